"""How long the command line takes to start, beside an interpreter that does nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys

from bench.figure import Figure, in_turns
from bench.listing import DISPATCH

ROUNDS = 40


async def measure() -> Figure:
    """`dispatch --help` against `python3 -c pass`, the same interpreter and environment."""
    turns = await in_turns(ROUNDS, lambda: _run(DISPATCH, "--help"), lambda: _run(sys.executable, "-c", "pass"))
    return Figure(
        name="start-up",
        what="dispatch --help ÷ python3 -c pass",
        value=turns.ratio,
        bar=5.0,
        less_is_better=True,
        parts={"help_ms": turns.ours_s * 1000, "pass_ms": turns.bare_s * 1000},
    )


async def _run(*words: str) -> None:
    child = await asyncio.create_subprocess_exec(*words, stdout=subprocess.DEVNULL)
    assert await child.wait() == 0, f"{words[0]} failed"
