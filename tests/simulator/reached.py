"""Which branches of the core, and which reasons of a decision, simulation alone reaches, and by which runs.

    python -m tests.simulator.reached                    # the stories and the recorded runs: is everything reached?
    python -m tests.simulator.reached --stories          # the stories alone
    python -m tests.simulator.reached --seeds 3000       # fresh runs: record the few that reach all there is to reach

A branch that no run reaches is named in `UNREACHED` with its reason, or it is a failure; so is a reason that no run
gives. Branches are counted by coverage.py, under the scripted ways (`scenarios/`) and seeded runs only: no unit test has
a part in it.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import coverage

from streams.messages.reasons import Reason
from tests.simulator.run import Ran, run
from tests.simulator.scenarios.every import STORIES
from tests.simulator.script import Script
from tests.simulator.silent import silence
from tests.simulator.unreached import UNREACHED

ROOT = Path(__file__).parents[2]
MEASURED = (
    "dispatch/next_steps/*.py",
    "dispatch/evidence.py",
    "dispatch/decide/*.py",
    "dispatch/supervisor.py",
    "projections/settled.py",
)
RECORDED = Path(__file__).with_name("reaching.txt")
PAGE = ROOT / "docs/simulator/coverage.md"
Jump = tuple[str, int, int]
Play = Callable[[], Script | Ran]


class Reach(NamedTuple):
    """What one file's branches came to. `missed`: each as its condition and where it would have led."""

    file: str
    branches: int
    reached: int
    missed: tuple[str, ...]

    @property
    def unnamed(self) -> tuple[str, ...]:
        return tuple(m for m in self.missed if (self.file, m) not in UNREACHED)


class Measured:
    """Runs under coverage, each for itself and all together.

    `reasons`: those of the decisions that any of them appended. `broken`: runs in which a law broke; they count not.
    """

    def __init__(self) -> None:
        files = [str(ROOT / pattern) for pattern in MEASURED]
        self._coverage = coverage.Coverage(branch=True, include=files, data_file=None, config_file=False)
        self._coverage.set_option("run:core", "ctrace")  # the newer core tells each line once, whichever run it was
        self.jumps: dict[str, frozenset[Jump]] = {}
        self.reasons: dict[str, set[Reason]] = {}
        self.broken: list[str] = []

    def run(self, name: str, play: Play) -> bool:
        """Play it; whether it went somewhere that no run before it did."""
        self._coverage.start()
        self._coverage.switch_context(name)
        try:
            played = play()
        finally:
            self._coverage.stop()
        data = self._coverage.get_data()
        data.set_query_context(name)
        went = frozenset((file, a, b) for file in data.measured_files() for a, b in data.arcs(file) or ())
        fresh = not went <= self._all() or not played.world.watch.reasons <= self._given()
        if fresh:
            self.jumps[name] = went
            self.reasons[name] = played.world.watch.reasons
        return fresh

    def unreasoned(self) -> list[str]:
        """Reasons that no decision of these runs gave."""
        given = self._given()
        return [reason.value for reason in Reason if reason not in given]

    def _given(self) -> set[Reason]:
        return set[Reason]().union(*self.reasons.values())

    def _all(self) -> frozenset[Jump]:
        return frozenset().union(*self.jumps.values())

    def fewest(self) -> list[str]:
        """Runs that together went everywhere, and gave every reason, that any did: the one that adds most first."""
        went: dict[str, set[Jump | Reason]] = {name: {*self.jumps[name], *self.reasons[name]} for name in self.jumps}
        left, chosen = set[Jump | Reason]().union(*went.values()), []
        while left:
            best = max(went, key=lambda name: (len(went[name] & left), name))
            chosen.append(best)
            left -= went[best]
        return chosen

    def reach(self) -> list[Reach]:
        """Each file's branches, all runs together."""
        self._coverage.get_data().set_query_contexts(None)
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "coverage.json"
            self._coverage.json_report(outfile=str(told), pretty_print=False)
            files = json.loads(told.read_text())["files"]
        return [_reach(name, files[name]) for name in sorted(files)]


def _reach(name: str, told: dict[str, object]) -> Reach:
    file = str((ROOT / name).resolve().relative_to(ROOT))
    text = (ROOT / file).read_text()
    summary = told["summary"]
    assert isinstance(summary, dict)
    return Reach(file, summary["num_branches"], summary["covered_branches"], tuple(_missed(text, told)))


def _missed(text: str, told: dict[str, object]) -> Iterator[str]:
    """Where the runs turned away, each once, in the words of the source: what lies behind is not told again."""
    lines = [line.strip() for line in text.splitlines()]
    untrodden = {line for line in _of_numbers(told["missing_lines"]) if line in _within_functions(text)}
    behind = set()
    for at, to in _of_pairs(told["missing_branches"]):
        if at not in untrodden:
            behind.add(to)
            yield f"{lines[at - 1]} → {lines[to - 1] if to > 0 else 'the end of ' + _named(text, -to)}"
    for line in sorted(untrodden - behind):
        if not untrodden & set(range(_start(text, line), line)):
            yield lines[line - 1]


def _of_numbers(told: object) -> list[int]:
    assert isinstance(told, list)
    return told


def _of_pairs(told: object) -> list[tuple[int, int]]:
    assert isinstance(told, list)
    return [(at, to) for at, to in told]


def _functions(text: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def _within_functions(text: str) -> set[int]:
    """Lines that run when something is called, not when the module is read."""
    return {line for f in _functions(text) for line in range(f.body[0].lineno, (f.end_lineno or 0) + 1)}


def _start(text: str, line: int) -> int:
    return max((f.lineno for f in _functions(text) if f.lineno <= line <= (f.end_lineno or 0)), default=line)


def _named(text: str, line: int) -> str:
    return next((f.name for f in _functions(text) if f.lineno == line), f"line {line}")


def seeded(name: str) -> Play:
    """The run that a line of `reaching.txt` names: a seed, and a shape or `-`."""
    seed, shape = name.split()

    def play() -> Ran:
        ran = run(int(seed), shape=None if shape == "-" else shape)
        assert not ran.broken, f"{ran.law}: {ran.what}; make sim SEED={seed}"
        return ran

    return play


def recorded() -> list[str]:
    return [line for line in RECORDED.read_text().splitlines() if line and not line.startswith("#")]


def measure(names: Iterable[str], say: Callable[[str], None]) -> Measured:
    """Every story, then these seeded runs."""
    measured = Measured()
    for story, _ in STORIES:
        measured.run(f"story {story.__name__}", story)
    for number, name in enumerate(names, 1):
        try:
            further = measured.run(name, seeded(name))
        except AssertionError as broken:
            measured.broken.append(f"{name}: {broken}")
            continue
        if further:
            say(f"{number}: {name} reaches further")
    return measured


def page(reached: list[Reach], runs: int) -> str:
    """The table of files, and of the branches that no simulation reaches."""
    total, done = sum(r.branches for r in reached), sum(r.reached for r in reached)
    lines = [
        "# Branch coverage by simulation alone",
        "",
        "`make cover-simulation` writes this page: coverage.py over the scripted ways of `tests/simulator/scenarios` and",
        f"{runs} seeded runs (`tests/simulator/reaching.txt`), no unit test among them. A branch that is reached by none",
        "and not named below fails `tests/simulator/test_reached.py`.",
        "",
        f"**{done} of {total} branches; all but the {len(UNREACHED)} named below. Each of the {len(Reason)} reasons of a",
        "decision is given in one of these runs; one that is not fails that test as well.**",
        "",
        "| file | branches | reached | named below |",
        "|---|---|---|---|",
        *(f"| `{r.file}` | {r.branches} | {r.reached} | {len(r.missed)} |" for r in reached if r.branches),
        "",
        "## What simulation does not reach, and why",
        "",
        "| file | branch | reason |",
        "|---|---|---|",
        *(f"| `{file}` | `{branch}` | {reason} |" for (file, branch), reason in UNREACHED.items()),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulator.reached", description=__doc__)
    parser.add_argument("--seeds", type=int, default=0, help="so many fresh runs, after those that are recorded")
    parser.add_argument("--first", type=int, default=3_000_000)
    parser.add_argument("--stories", action="store_true", help="no seeded run")
    parser.add_argument("--page", action="store_true", help="write docs/simulator/coverage.md")
    given = parser.parse_args()
    silence(for_good=True)

    def say(text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    names = [] if given.stories or not RECORDED.exists() else recorded()
    measured = measure([*names, *(f"{given.first + n} -" for n in range(given.seeds))], say)
    if given.seeds:
        names = [name for name in measured.fewest() if not name.startswith("story ")]
        RECORDED.write_text("# Runs that together reach every branch that simulation reaches: seed, shape.\n")
        with RECORDED.open("a") as file:
            file.writelines(f"{name}\n" for name in names)
    reached = measured.reach()
    if given.page:
        PAGE.write_text(page(reached, len(names)))
    missing = [*measured.broken, *(f"{r.file}: {branch}" for r in reached for branch in r.unnamed)]
    missing += [f"streams/messages/reasons.py: {reason}: no decision gave it" for reason in measured.unreasoned()]
    missed = {(r.file, branch) for r in reached for branch in r.missed}
    stale = [f"{file}: {branch}: reached, or gone" for file, branch in UNREACHED if (file, branch) not in missed]
    say(
        "\n".join([*missing, *stale])
        or f"every branch and reason is reached or named, by {len(names)} runs and the stories"
    )
    return int(bool(missing or stale))


if __name__ == "__main__":
    sys.exit(main())
