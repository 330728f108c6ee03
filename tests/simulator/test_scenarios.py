"""Each marked rule, by the shortest way in which its absence breaks a law."""

from __future__ import annotations

import pytest

from tests.simulator.broken import LawBroken
from tests.simulator.mutants.every import MUTANTS
from tests.simulator.mutants.plant import planted
from tests.simulator.scenarios.every import STORIES, Story

BY_NAME = {mutant.name: mutant for mutant in MUTANTS}
TOLD = [story for story, _ in STORIES]
SHOWN = [(story, name) for story, names in STORIES for name in names]


@pytest.mark.parametrize("story", TOLD, ids=lambda story: story.__name__)
def test_no_law_breaks_on_this_way(story: Story) -> None:
    story()


@pytest.mark.parametrize(("story", "name"), SHOWN, ids=lambda given: given if isinstance(given, str) else "")
def test_without_the_rule_this_way_breaks_a_law(story: Story, name: str) -> None:
    with planted(BY_NAME[name]), pytest.raises(LawBroken) as broken:
        story()
    assert broken.value.law in BY_NAME[name].laws
