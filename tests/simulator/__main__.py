"""`python -m tests.simulator`: replay one seed, shrink it, or soak many."""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

from tests.simulator.mutants.search import search_all, table
from tests.simulator.run import STEPS, Ran, run
from tests.simulator.shrink import shrink
from tests.simulator.soak import report, soak
from tests.simulator.swarm import SHAPES
from tests.simulator.telling import dump


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def told(ran: Ran) -> int:
    """The trace, the record and the ground truth of one run; 1 if a law broke."""
    say(f"seed {ran.seed} shape {ran.world.swarm.shape}")
    say("\n".join(ran.world.trace or ()))
    say(dump(ran.world))
    say(f"{ran.law}: {ran.what}" if ran.broken else "every law holds")
    return int(ran.broken)


def replay(given: argparse.Namespace) -> int:
    return told(run(given.seed, steps=given.stop_at, shape=given.shape, trace=True))


def shorten(given: argparse.Namespace) -> int:
    found = shrink(given.seed, steps=given.stop_at, shape=given.shape)
    if found is None:
        say(f"seed {given.seed} breaks no law")
        return 0
    script, ran = found
    say(f"{len(script)} draws: {script}")
    return told(ran)


def soaked(given: argparse.Namespace) -> int:
    say(f"soak from seed {given.seed} for {given.minutes:g} min")
    done = soak(
        itertools.count(given.seed),
        seconds=given.minutes * 60,
        shape=given.shape,
        stop=lambda so_far: given.schedules is not None and so_far.seeds >= given.schedules,
    )
    text = report(done)
    if given.report is not None:
        Path(given.report).write_text(text)
    say(text)
    return int(bool(done.broken))


def mutants(given: argparse.Namespace) -> int:
    missed = search_all(given.seed, given.seeds, given.only, say)
    if given.table is not None:
        Path(given.table).write_text(table())
    return int(bool(missed))


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulator", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, does in (("replay", replay), ("shrink", shorten)):
        one = commands.add_parser(name)
        one.add_argument("seed", type=int)
        one.add_argument("--stop-at", type=int, default=STEPS, help="busy steps before the quiet phase")
        one.add_argument("--shape", help="and a theme after a colon: slurm-plain:requeue")
        one.set_defaults(does=does)
    many = commands.add_parser("soak")
    many.add_argument("--seed", type=int, default=1)
    many.add_argument("--minutes", type=float, default=1.0)
    many.add_argument("--schedules", type=int)
    many.add_argument("--shape", choices=SHAPES)
    many.add_argument("--report")
    many.set_defaults(does=soaked)
    planted = commands.add_parser("mutants")
    planted.add_argument("--seed", type=int, default=1)
    planted.add_argument("--seeds", type=int, default=20_000, help="the most seeds for one mutation")
    planted.add_argument("--only", default="", help="mutations whose name contains this")
    planted.add_argument("--table", help="write the table of what is known to this file")
    planted.set_defaults(does=mutants)
    return parser


if __name__ == "__main__":
    given = arguments().parse_args()
    sys.exit(given.does(given))
