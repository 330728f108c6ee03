"""A tenant's controls: kill switch, brake, observe; whole values, one cluster or all."""

from __future__ import annotations

from msgspec.structs import replace

from projections.controls import Controls, fold_controls
from streams.messages.events import ControlsSet, Quarantined
from streams.messages.reasons import Reason
from tests.unit.projections.story import Story


def controls() -> Story:
    return Story(job="_controls")


def folded(story: Story) -> Controls:
    return fold_controls(Controls(), story.entries)


def test_nothing_set_lets_every_retry_go() -> None:
    assert Controls().retries_wait("hpc2", Story().at) is None


def test_a_control_binds_its_cluster_and_one_without_a_cluster_binds_all() -> None:
    story = controls().append(ControlsSet(cluster="hpc2", retries=False), Reason.PERSON_CONTROLS)
    assert folded(story).retries_wait("hpc2", story.at) == "retries-stopped"
    assert folded(story).retries_wait("hpc9", story.at) is None
    story.append(ControlsSet(observe=True), Reason.PERSON_CONTROLS)
    assert folded(story).retries_wait("hpc9", story.at) == "observed"


def test_a_brake_holds_until_its_time() -> None:
    """R14."""
    story = controls()
    until = story.after(900)
    story.append(ControlsSet(cluster="hpc2", brake_until_at=until, brake_cause="node-lost"), Reason.BRAKE_TRIPPED)
    assert folded(story).retries_wait("hpc2", story.after(899)) == "brake"
    assert folded(story).retries_wait("hpc2", until) is None


def test_the_newest_whole_value_stands() -> None:
    story = controls().append(ControlsSet(retries=False), Reason.PERSON_CONTROLS)
    story.append(ControlsSet(retries=True), Reason.PERSON_CONTROLS, command="c-7", on_behalf_of="bo", note="all clear")
    standing = folded(story).standing(None)
    assert (standing.retries, standing.set_by, standing.note, standing.number) == (True, "bo", "all clear", 2)


def test_an_entry_that_was_folded_or_stored_before_changes_nothing() -> None:
    story = controls().append(ControlsSet(retries=False), Reason.PERSON_CONTROLS)
    story.append(ControlsSet(retries=True), Reason.PERSON_CONTROLS)
    once = folded(story)
    assert fold_controls(once, story.entries) == once
    again = fold_controls(once, [replace(story.entries[0], revision=once.revision + 9)])
    assert again == replace(once, revision=once.revision + 9, number=3)


def test_a_message_that_nobody_can_read_changes_nothing_but_the_revision() -> None:
    story = controls().append(ControlsSet(retries=False), Reason.PERSON_CONTROLS)
    before = folded(story)
    after = folded(story.strange(Quarantined(why="not JSON")))
    assert after == replace(before, revision=story.revision, number=2)
