"""Every interleaving of the smallest worlds: no law breaks in any, and none was left out."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.simulator.mutants.every import MUTANTS
from tests.simulator.mutants.plant import planted
from tests.simulator.small.explore import BOTH, explore, trace, walk
from tests.simulator.small.key import key_of
from tests.simulator.small.world import Begins, Fault, Small
from tests.simulator.small.worlds import QUICK, STATES, WORLDS, of

SMALLEST = (
    Small(about="launch", shape="slurm", fault=Fault.APPEND, passes=1),
    of("requeue", "slurm", 1, begins=Begins.RECORDED),
    of("requeue", "slurm", 1, begins=Begins.CALLED),
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
    assert explored.interleavings > 1
    assert explored.lacks == (), "what this world is there for never happened in it"


@pytest.mark.parametrize("fault", ["call-late", "append-late", "crash", "stale-read"])
@pytest.mark.parametrize("about", ["launch", "cancel", "requeue"])
def test_every_fault_strikes_a_launch_a_cancel_and_a_requeue_on_either_cluster(about: str, fault: str) -> None:
    shapes = {small.shape for small in WORLDS if (small.about, small.fault) == (about, fault)}
    assert shapes == {"slurm", "kubeflow"}


def test_a_world_in_which_its_call_is_never_sent_is_told_from_one_that_was_explored() -> None:
    small = of("requeue", "kubeflow", 1, Fault.CALL, begins=Begins.CALLED)
    explored = explore(msgspec.structs.replace(small, waits=0))
    assert (explored.law, explored.left) == ("", 0)
    assert explored.lacks == ("sent open", "struck open", Fault.CALL)
    assert not explored.complete


@pytest.mark.parametrize("begins", [Begins.RECORDED, Begins.CALLED])
@pytest.mark.parametrize("about", ["cancel", "requeue"])
def test_two_supervisors_contend_for_the_call_of_a_command_and_for_what_follows_it(about: str, begins: str) -> None:
    assert [s for s in WORLDS if (s.about, s.begins) == (about, begins) and s.passes > 1]


def test_a_world_of_two_passes_in_which_no_two_are_on_at_once_lacks_what_it_is_there_for() -> None:
    first_states = explore(of("requeue", "slurm", 2, begins=Begins.RECORDED), states_max=20)
    assert BOTH in first_states.lacks


def written() -> dict[str, tuple[str, ...]]:
    """By world, what the page says came of it: states, steps, ends, interleavings."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text().splitlines() if "|" in line
    ]
    return {" ".join(row[:5]): tuple(row[6:10]) for row in rows}


def test_the_page_tells_of_every_world() -> None:
    assert {small.name for small in WORLDS} <= set(written())
    assert "Each was explored to the end and showed what it is there for, and no law broke." in PAGE.read_text()


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
