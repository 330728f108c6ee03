"""`python -m tests.simulator`: replay one seed, shrink it, or soak many."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.simulator.mutants.search import search_all, table
from tests.simulator.run import STEPS, Ran, digest, run
from tests.simulator.shrink import shrink
from tests.simulator.silent import silence
from tests.simulator.soak import Soaked, report
from tests.simulator.soaking import Wanted, soak_by_many
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
    wanted = Wanted(
        first_seed=given.seed,
        schedules=given.schedules,
        seconds=given.minutes * 60,
        processes=given.processes,
        shape=given.shape,
    )

    def write(so_far: Soaked) -> None:
        if given.report is not None:
            Path(given.report).write_text(report(so_far))

    much = f"{given.schedules:,} schedules, at most " if given.schedules is not None else ""
    say(f"soak from seed {given.seed}: {much}{given.minutes:g} min, {given.processes} processes")
    done = soak_by_many(wanted, write)
    say(report(done))
    return int(done.failed)


def mutants(given: argparse.Namespace) -> int:
    missed = search_all(given.seed, given.seeds, given.only, say)
    if given.table is not None:
        Path(given.table).write_text(table())
    return int(bool(missed))


def told_in_one(given: argparse.Namespace) -> int:
    say(digest())
    return 0


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
    many.add_argument("--schedules", type=int, help="seeds; without it as many as there is time for")
    many.add_argument("--processes", type=int, default=1)
    many.add_argument("--shape", choices=SHAPES)
    many.add_argument("--report")
    many.set_defaults(does=soaked)
    planted = commands.add_parser("mutants")
    planted.add_argument("--seed", type=int, default=1)
    planted.add_argument("--seeds", type=int, default=20_000, help="the most seeds for one mutation")
    planted.add_argument("--only", default="", help="mutations whose name contains this")
    planted.add_argument("--table", help="write the table of what is known to this file")
    planted.set_defaults(does=mutants)
    one = commands.add_parser("digest", help="what some seeds do, in one number: the same on every Python")
    one.set_defaults(does=told_in_one)
    return parser


if __name__ == "__main__":
    silence(for_good=True)
    given = arguments().parse_args()
    sys.exit(given.does(given))
