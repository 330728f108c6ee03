"""Every planted bug is caught, again and again: at the seed where it was caught last, or within a few more.

`make mutants` looks for each from the first seed on; docs/simulator/mutants.md says after how many it was caught.
"""

from __future__ import annotations

import statistics

import pytest

from tests.simulator.mutants.every import MUTANTS
from tests.simulator.mutants.marked import MARKED, OTHERWISE
from tests.simulator.mutants.plant import Edit, Mutant, planted
from tests.simulator.mutants.search import ROOT, StumblesError, recorded, search, table
from tests.simulator.run import run
from tests.simulator.scenarios.every import STORIES
from tests.simulator.shrink import shrink

MORE_SEEDS = 40
CAUGHT = recorded()


def test_there_are_at_least_fifty_and_each_has_a_name_of_its_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 50


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_this_planted_bug_is_caught(mutant: Mutant) -> None:
    assert mutant.name in CAUGHT, f"make mutants ONLY={mutant.name}"
    assert search(mutant, CAUGHT[mutant.name].seed, MORE_SEEDS) is not None, f"make mutants ONLY={mutant.name}"


def test_no_bug_is_recorded_that_is_planted_no_more() -> None:
    assert CAUGHT.keys() <= {mutant.name for mutant in MUTANTS}


def test_the_table_names_the_file_of_each_edit() -> None:
    rows = {line.split("|")[1].split()[0]: line.split("|")[3] for line in table().splitlines() if line.startswith("| ")}
    for mutant in MUTANTS:
        files = [file.strip(" `") for file in rows[mutant.name].split(",")]
        assert len(files) == len({edit.place.partition(":")[0] for edit in mutant.edits})
        assert all((ROOT / file).is_file() for file in files)


def test_half_of_the_planted_bugs_are_caught_within_two_thousand_seeds() -> None:
    assert statistics.median(caught.seeds for caught in CAUGHT.values()) <= 2000


def test_a_planted_bug_that_only_raises_is_not_caught() -> None:
    stumbles = Edit("dispatch.supervisor:_decide", "    result = Result.QUIET\n", "    raise ValueError\n")
    with pytest.raises(StumblesError, match="raised in 20 of 20 runs"):
        search(Mutant(name="stumbles", rule="", edits=(stumbles,), laws=("L1",)), 1, 40)


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.marked], ids=lambda mutant: mutant.name)
def test_a_marked_rule_has_its_shortest_way(mutant: Mutant) -> None:
    assert any(mutant.name in names for _, names in STORIES)


@pytest.mark.parametrize("rule", MARKED)
def test_each_rule_that_the_design_marks_is_gone_in_a_planted_bug(rule: str) -> None:
    assert MARKED[rule]
    assert {mutant.name for mutant in MUTANTS} >= set(MARKED[rule])


def test_a_planted_bug_that_bears_the_mark_takes_a_marked_rule_away() -> None:
    named = {name for names in MARKED.values() for name in names}
    assert {mutant.name for mutant in MUTANTS if mutant.marked} <= named
    assert OTHERWISE.keys() <= named


def test_a_planted_bug_is_gone_when_it_is_taken_out() -> None:
    mutant = next(m for m in MUTANTS if m.name == "call-sent-twice")
    with planted(mutant):
        assert run(1).broken
    assert not run(1).broken


def test_an_edit_that_no_longer_fits_the_code_says_so() -> None:
    gone = Edit("dispatch.next_steps.gate:next_run", "words that are not there", "")
    with pytest.raises(LookupError, match="0 times"), planted(Mutant(name="gone", rule="", edits=(gone,), laws=())):
        pass


def test_a_failing_run_is_made_short() -> None:
    mutant = next(m for m in MUTANTS if m.name == "call-sent-twice")
    with planted(mutant):
        long = len(run(1).world.draws.log)
        found = shrink(1, steps=300, runs_max=150)
    assert found is not None
    script, ran = found
    assert ran.law == "L7"
    assert len(script) < long / 2
