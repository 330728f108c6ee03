"""L15: where a history cannot be read, decisions stop: each that did not is found."""

from __future__ import annotations

from projections.verify import verify
from streams.messages.events import Quarantined, UnknownEvent
from streams.messages.values import (
    Disposition,
    MessageRef,
    Phase,
    Verb,
)
from tests.unit.projections.lawful import plain_success
from tests.unit.projections.story import (
    launched,
)
from tests.unit.projections.verify.judged import broken, laws, only


def test_a_decision_behind_a_message_that_nobody_can_read_is_found() -> None:
    story, ref = launched()
    story.strange(Quarantined(why="no envelope: JSON is malformed"))
    revision = story.revision
    assert only(story.call(Verb.OPEN, ref, run=0), "L15") == (
        f"CallCommitted was decided behind r{revision}, a message that nobody can read (no envelope: JSON is malformed)"
    )


def test_evidence_and_a_persons_word_on_the_message_may_stand_behind_it() -> None:
    story, ref = launched()
    story.strange(Quarantined(why="no envelope: JSON is malformed"))
    message = MessageRef(revision=story.revision)
    story.later(9).seen((ref, Phase.GATED)).disposed(message, Disposition.IGNORE).opened(ref)
    assert laws(story) == ()


def test_a_decision_behind_a_type_of_a_later_release_is_found_and_no_other_law_is_judged_from_there() -> None:
    story, ref = launched()
    story.strange(UnknownEvent(type="NodeDrained", v=1))
    assert laws(story.later(9).seen((ref, Phase.GATED))) == ()
    story.opened(ref).later(60).running(ref).settled()
    assert {law for law, _, _ in broken(story)} == {"L15"}
    assert "a message of type NodeDrained, version 1, unknown to this release" in broken(story)[0][2]


def test_whatever_stands_in_a_history_it_is_judged_and_never_raised() -> None:
    entries = plain_success().entries
    for dropped in range(len(entries)):
        for first in range(len(entries)):
            torn = [*entries[first:], *entries[:first]]
            del torn[dropped]
            assert verify(torn).events == len(entries) - 1
