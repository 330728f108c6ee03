"""What a job's command does in memory: how long it runs and how it ends.

`sleep S`, `true`, `false`, `exit N`, `sh -c '...'` of those joined by `;` or `&&`. Anything else ends well after
`DEFAULT_RUN_S`. No shell is run.
"""

from __future__ import annotations

import re

import msgspec

from streams.messages.spec import Run
from streams.messages.values import Cause, CauseKind

DEFAULT_RUN_S = 5.0
_SPLIT = re.compile(r"[;\n]|&&")


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds until it ends by itself, and with which exit code."""

    runs_s: float = DEFAULT_RUN_S
    exit_code: int = 0

    @property
    def cause(self) -> Cause:
        if self.exit_code == 0:
            return Cause(kind=CauseKind.COMPLETED, exit_code=0)
        return Cause(kind=CauseKind.EXIT_CODE, exit_code=self.exit_code, rank=0)


def program_of(run: Run) -> Program:
    """What `run` would do, as far as its words can be read without a shell."""
    if run.script is not None:
        return _of_script(run.script)
    words = run.command or ()
    if len(words) == 3 and words[0].rpartition("/")[2] in ("sh", "bash") and words[1] in ("-c", "-ec"):
        return _of_script(words[2])
    return _of_steps([list(words)])


def _of_script(text: str) -> Program:
    lines = [line for line in _SPLIT.split(text) if not line.strip().startswith("#")]
    return _of_steps([line.split() for line in lines])


def _of_steps(steps: list[list[str]]) -> Program:
    slept: float | None = None
    for words in steps:
        name = words[0].rpartition("/")[2] if words else ""
        if name == "sleep" and len(words) == 2 and words[1].replace(".", "", 1).isdecimal():
            slept = (slept or 0.0) + float(words[1])
        elif name == "exit":
            return Program(
                runs_s=slept or 0.0, exit_code=int(words[1]) if len(words) > 1 and words[1].isdecimal() else 0
            )
        elif name in ("true", "false"):
            slept = slept or 0.0
            if name == "false":
                return Program(runs_s=slept, exit_code=1)
    return Program(runs_s=DEFAULT_RUN_S if slept is None else slept)
