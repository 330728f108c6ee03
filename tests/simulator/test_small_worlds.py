"""Every interleaving of the smallest worlds: no law breaks in any, and none was left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulator.mutants.every import MUTANTS
from tests.simulator.mutants.plant import planted
from tests.simulator.small.explore import explore, trace, walk
from tests.simulator.small.key import key_of
from tests.simulator.small.world import Fault, Small
from tests.simulator.small.worlds import QUICK, STATES

SMALLEST = (
    Small(about="launch", shape="slurm", fault=Fault.APPEND, passes=1),
    Small(about="requeue", shape="slurm", passes=1),
)
PAGE = Path(__file__).parents[2] / "docs" / "simulator" / "small-worlds.md"
EXACT_MAX = 120
MUTANT = {mutant.name: mutant for mutant in MUTANTS}
CAUGHT = (
    ("append-without-expectation", Small(about="launch", shape="slurm", passes=2)),
    ("undecided-append-taken-for-accepted", Small(about="launch", shape="slurm", fault=Fault.APPEND, passes=1)),
    ("cancel-does-not-bind", Small(about="cancel", shape="slurm", passes=1)),
)


@pytest.mark.parametrize("small", QUICK, ids=lambda small: small.name)
def test_no_order_of_what_can_happen_in_a_small_world_breaks_a_law(small: Small) -> None:
    explored = explore(small)
    assert explored.law == "", "\n".join(trace(small, explored.path))
    assert explored.left == 0
    assert explored.states >= STATES[small.name], "the explorer no longer sees a choice"
    assert explored.interleavings > explored.states // 2


def written() -> dict[str, tuple[str, ...]]:
    """By world, what the page says came of it: states, steps, ends, interleavings."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text().splitlines() if "|" in line
    ]
    return {" ".join(row[:4]): tuple(row[5:9]) for row in rows}


@pytest.mark.parametrize("small", [s for s in QUICK if STATES[s.name] <= EXACT_MAX], ids=lambda small: small.name)
def test_the_page_says_what_an_exploration_comes_to(small: Small) -> None:
    one = explore(small)
    counted = tuple(f"{count:,}" for count in (one.states, one.steps, one.ends, one.interleavings))
    assert written()[small.name] == counted, "what can happen has changed: if it was meant to, make small"


def every_way(small: Small, path: tuple[int, ...] = ()) -> list[bytes]:
    """The ends of all ways, each gone along by itself: no state is remembered."""
    world = walk(small, path)
    choices = len(world.options())
    if not choices:
        return [key_of(world)]
    return [end for index in range(choices) for end in every_way(small, (*path, index))]


@pytest.mark.parametrize("small", SMALLEST, ids=lambda small: small.name)
def test_states_taken_for_the_same_have_the_same_futures(small: Small) -> None:
    ends = every_way(small)
    explored = explore(small)
    assert (explored.interleavings, explored.ends) == (len(ends), len(set(ends)))


@pytest.mark.parametrize(("name", "small"), CAUGHT, ids=lambda value: str(getattr(value, "name", value)))
def test_an_exploration_finds_the_order_in_which_a_planted_bug_breaks_a_law(name: str, small: Small) -> None:
    with planted(MUTANT[name]):
        explored = explore(small)
        assert explored.law in MUTANT[name].laws
        assert trace(small, explored.path)[-1].startswith(explored.law)
    assert explore(small, states_max=explored.states).law == ""
