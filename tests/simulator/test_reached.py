"""Every branch of the core is reached by simulation alone, or is named with its reason; every decision reason is given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def reached(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: coverage measures one thing at a time."""
    command = [sys.executable, "-m", "tests.simulator.reached", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_recorded_runs_reach_every_branch_that_is_not_named_and_give_every_reason() -> None:
    told = reached()
    assert told.returncode == 0, f"{told.stdout}{told.stderr}\nmake cover-simulation SEEDS=1000 records others"


def test_a_branch_that_no_run_reaches_and_a_reason_that_none_gives_are_told() -> None:
    told = reached("--stories")
    assert told.returncode == 1
    assert "dispatch/next_steps/ends.py: if not named: → return False" in told.stdout
    assert "streams/messages/reasons.py: brake-tripped: no decision gave it" in told.stdout
