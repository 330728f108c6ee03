"""`python -m tests.simulator.small`: explore every small world, say what came of each, write the page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.simulator.silent import silence
from tests.simulator.small.explore import Explored, explore, trace
from tests.simulator.small.report import page
from tests.simulator.small.worlds import QUICK, WORLDS

PAGE = Path("docs/simulator/small-worlds.md")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def told(one: Explored) -> None:
    say(
        f"{one.small.name:<44} {one.states:>7} states {one.steps:>7} steps {one.interleavings} ways {one.seconds:.0f} s"
    )
    if one.lacks:
        say(f"  not shown: {', '.join(one.lacks)}")
    if one.law:
        say("\n".join(trace(one.small, one.path)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulator.small", description=__doc__)
    parser.add_argument("--only", default="", help="worlds whose name contains this; the page is not written")
    parser.add_argument("--quick", action="store_true", help="those that every test run explores; no page either")
    given = parser.parse_args()
    silence(for_good=True)
    chosen = [small for small in (QUICK if given.quick else WORLDS) if given.only in small.name]
    explored = []
    for small in chosen:
        explored.append(explore(small))
        told(explored[-1])
    if not given.only and not given.quick:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page(explored))
        say(f"wrote {PAGE}")
    return int(not all(one.complete for one in explored))


if __name__ == "__main__":
    sys.exit(main())
