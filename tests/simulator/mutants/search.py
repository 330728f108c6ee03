"""How many seeds it takes until a planted bug breaks a law."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tests.simulator.mutants.every import MUTANTS
from tests.simulator.mutants.plant import Mutant, planted
from tests.simulator.run import Ran, run
from tests.simulator.swarm import SHAPES


class Caught(msgspec.Struct, frozen=True, kw_only=True):
    """The seed, shape and law by which a mutant was caught, and how many seeds that took."""

    mutant: str
    seed: int
    shape: str
    law: str
    what: str
    seeds: int


def attempt(mutant: Mutant, seed: int) -> Ran:
    """One run of the mutated code, in the shape whose turn it is at this seed."""
    shapes = mutant.shapes or SHAPES
    return run(seed, steps=mutant.steps, shape=shapes[seed % len(shapes)])


def search(mutant: Mutant, first: int, seeds: int) -> Caught | None:
    """The first seed that breaks one of the laws that this mutant is to break; None within so many."""
    with planted(mutant):
        for count in range(seeds):
            ran = attempt(mutant, first + count)
            if ran.law in mutant.laws:
                return Caught(
                    mutant=mutant.name,
                    seed=ran.seed,
                    shape=ran.world.swarm.shape,
                    law=ran.law or "",
                    what=ran.what,
                    seeds=count + 1,
                )
    return None


def search_all(first: int, seeds: int, only: str, say: Callable[[str], None]) -> int:
    """Every mutant, a line each; how many were not caught."""
    missed = 0
    for mutant in MUTANTS:
        if only and only not in mutant.name:
            continue
        caught = search(mutant, first, seeds)
        missed += caught is None
        say(
            f"{mutant.name:<46} {caught.law + ' ' + str(caught.seeds) + ' ' + caught.what[:90] if caught else 'NOT CAUGHT'}"
        )
    return missed
