"""L5: a decision stands right behind what its writer had read, or is found."""

from __future__ import annotations

from projections.verify import verify
from streams.messages import events
from streams.messages.events import Envelope
from streams.messages.reasons import Reason
from streams.messages.values import (
    Outcome,
)
from tests.unit.projections.lawful import plain_success
from tests.unit.projections.story import (
    COMPLETED,
    Story,
    run_once,
)
from tests.unit.projections.verify.judged import laws, only


def test_a_decision_that_does_not_stand_right_behind_what_was_read_is_found() -> None:
    story, _ = run_once()
    stale = story.entries[-2].revision
    event = events.OutcomeDecided(outcome=Outcome.SUCCEEDED, submission=1, cause=COMPLETED, rule="completed")
    last = story.entries[-1].revision
    story.append(event, Reason.COMPLETED, expected=stale)
    assert only(story, "L5") == f"was decided at r{stale}, but the entry before it is r{last}"


def test_a_history_with_an_event_taken_out_is_found() -> None:
    entries = plain_success().entries
    verdict = verify(entries[:3] + entries[4:])
    assert verdict.broken_laws == ("L5",)
    assert verdict.broken[0].number == 4


def test_a_history_that_does_not_begin_at_its_beginning_is_found() -> None:
    assert ("L5", 1) in [(b.law, b.number) for b in verify(plain_success().entries[1:]).broken]


def test_revisions_that_do_not_grow_are_found() -> None:
    entries = plain_success().entries
    twice = [*entries, entries[-1]]
    assert verify(twice).broken[0].sentence == f"stands at r{entries[-1].revision}, behind r{entries[-1].revision}"


def test_an_event_stored_twice_under_one_id_counts_once() -> None:
    story = Story().submitted().later(1).authorized()
    first = story.entries[-1].content
    assert isinstance(first, Envelope)
    story.append(first.event, first.reason, id=first.id, at=first.at)
    assert laws(story.attempt()) == ()
