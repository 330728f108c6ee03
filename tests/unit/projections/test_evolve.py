"""One entry folded into the record: each event type, repeated entries, and messages that nobody can read."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from projections.evolve import empty, evolve, fold
from projections.record import Accepted, Record
from streams.messages import events
from streams.messages.events import Envelope, Quarantined, UnknownEvent
from streams.messages.reasons import Reason
from streams.messages.values import (
    AttemptRef,
    Disposition,
    HoldKind,
    MessageRef,
    Outcome,
    Phase,
    ReplyOutcome,
    StopBasis,
    Verb,
)
from tests.unit.projections.story import CRASHED, NODES, Story, launched, run_once, spec


def folded(story: Story) -> Record:
    return fold(empty(story.tenant, story.job), story.entries)


# the envelope


def test_an_empty_record_knows_nothing() -> None:
    record = empty("nlp", "llama-7b")
    assert record.empty
    assert (record.revision, record.number, record.spec, record.newest, record.wanted) == (0, 0, None, None, "run")


def test_revision_and_number_follow_the_entries() -> None:
    story, _ = launched()
    record = folded(story)
    assert (record.revision, record.number) == (story.revision, len(story.entries))


def test_an_entry_at_or_below_the_records_revision_changes_nothing() -> None:
    story, _ = launched()
    record = folded(story)
    assert fold(record, story.entries) == record


def test_a_repeated_event_id_changes_nothing_but_revision_and_number() -> None:
    """R22: the same event stored twice."""
    story, _ = launched()
    record = folded(story)
    for entry in story.entries:
        again = replace(entry, revision=record.revision + 7)
        after = evolve(record, again)
        assert after == replace(record, revision=record.revision + 7, number=record.number + 1)


def test_the_first_event_of_a_command_is_the_one_it_became() -> None:
    """A command delivered twice is one command."""
    story = Story().submitted()
    first = story.entries[0]
    story.append(events.HoldAsked(instance="x", rule="person", kind=HoldKind.PERSON), command="c-8k2m")
    assert folded(story).commands == {"c-8k2m": Accepted(first.revision, 1, "JobSubmitted")}


def test_the_owner_is_the_writer_of_the_last_decision() -> None:
    story = (
        Story()
        .submitted()
        .append(
            events.SubmissionAuthorized(submission=1, rule="submit", budget_key="submit/1.0", not_before_at=Story().at),
            Reason.FIRST_SUBMISSION,
            by="replica:sv-c",
        )
    )
    assert folded(story).owner == "replica:sv-c"
    story.append(events.ObjectsSeen(as_of=story.at, read_revision=1), by="replica:sv-d")
    assert folded(story).owner == "replica:sv-c", "evidence owns nothing"


# what nobody can read


def test_bytes_that_are_no_envelope_stop_decisions_until_a_person_disposes_of_them() -> None:
    """L15."""
    story = Story().submitted().strange(Quarantined(why="not JSON"))
    record = folded(story)
    assert [(s.revision, s.number, s.text, s.upgrade) for s in record.strange] == [
        (story.revision, 2, "not JSON", False)
    ]
    story.disposed(MessageRef(revision=story.revision), Disposition.IGNORE)
    assert folded(story).strange == ()


def test_an_unknown_event_type_stops_decisions_and_says_that_an_upgrade_is_needed() -> None:
    """L15."""
    record = folded(Story().submitted().strange(UnknownEvent(type="JobPaused", v=2)))
    assert [(s.text, s.upgrade) for s in record.strange] == [("JobPaused", True)]


def test_a_disposed_message_is_waived_for_ever() -> None:
    story = Story().submitted()
    story.disposed(MessageRef(revision=48_000), Disposition.IGNORE)
    assert folded(story).waived == {48_000}


def test_a_controls_event_on_a_jobs_subject_changes_nothing() -> None:
    story = Story().submitted()
    before = folded(story)
    after = folded(story.append(events.ControlsSet(retries=False), Reason.PERSON_CONTROLS))
    assert replace(after, revision=0, number=0, ids=frozenset(), owner="") == replace(
        before, revision=0, number=0, ids=frozenset(), owner=""
    )


# submit, hold, lift, cancel


def test_a_submit_brings_its_spec_plan_and_who_asked() -> None:
    record = folded(Story().submitted())
    assert record.spec == spec()
    assert (record.submitted_by, record.over, record.wanted) == ("ana", False, "run")


def test_a_job_submitted_held_is_held_by_an_instance_named_by_its_command() -> None:
    record = folded(Story().submitted(hold="until ana has looked"))
    hold = record.holds["c-8k2m"]
    assert (hold.kind, hold.note, hold.by, hold.lifted) == (HoldKind.PERSON, "until ana has looked", "ana", False)
    assert record.wanted == "held"


def test_a_hold_is_in_force_until_it_is_lifted_and_each_instance_stands_for_itself() -> None:
    story = Story().submitted().hold_asked().hold_asked("c-other").hold_lifted()
    record = folded(story)
    assert [h.instance for h in record.in_force] == ["c-other"]
    assert (record.holds["c-2h4w"].lifted_by, record.holds["c-2h4w"].lifted_revision) == ("c-3r7t", story.revision)


def test_a_new_submissions_object_carries_no_hold_yet() -> None:
    story, ref = launched()
    story.opened(ref).later(5).seen((ref, Phase.QUEUED)).hold_asked()
    story.call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=("c-2h4w",)).replied().later(1)
    story.seen((ref, Phase.GATED))
    assert folded(story).holds["c-2h4w"].placed
    story.authorized(2, "person", "person/c-9")
    assert not folded(story).holds["c-2h4w"].placed


def test_one_cancel_sets_the_outcome_lifts_every_hold_and_drops_what_was_not_carried_out() -> None:
    """L2."""
    story, ref = run_once(cause=CRASHED)
    story.hold_asked().requeue_authorized(ref, 0).cancelled(asked_at=story.after(-1))
    record = folded(story)
    assert record.cancel is not None
    assert (record.cancel.number, record.cancel.command, record.cancel.note) == (
        len(story.entries),
        "c-5xq1",
        "wrong data mix",
    )
    assert (record.over, record.wanted, record.in_force) == (True, "cancelled", ())
    assert [r.dropped for r in record.requeues] == [True]
    assert record.pending_requeue() is None


def test_a_requeue_that_was_sent_is_not_dropped_by_a_cancel() -> None:
    """It may still land: the second stop waits for it."""
    story, ref = run_once(cause=CRASHED)
    story.requeue_authorized(ref, 0).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0).cancelled()
    assert [r.dropped for r in folded(story).requeues] == [False]


def test_the_first_cancel_stands() -> None:
    story = Story().submitted().cancelled()
    first = folded(story).cancel
    assert folded(story.later(9).cancelled(command="c-again")).cancel == first


# submissions and attempts


def test_a_budget_key_is_counted_once_for_its_rule() -> None:
    story = Story().submitted().authorized().authorized(2, "preempted", "preempted/1.0")
    assert folded(story).uses == {"submit": 1, "preempted": 1}
    assert folded(story.authorized(3, "preempted", "preempted/1.0")).uses == {"submit": 1, "preempted": 1}
    assert folded(story.authorized(4, "preempted", "preempted/3.0")).uses == {"submit": 1, "preempted": 2}


def test_a_resubmit_in_place_of_a_requeue_that_was_paid_for_costs_nothing() -> None:
    story, ref = run_once(cause=CRASHED)
    story.requeue_authorized(ref, 0).authorized(2, "crash", "crash/1.0/resubmit")
    record = folded(story)
    assert record.uses["crash"] == 1
    assert record.keys >= {"crash/1.0", "crash/1.0/resubmit"}


def test_an_attempt_remembers_the_revision_and_id_that_its_object_will_carry() -> None:
    """L14."""
    story = Story().submitted().authorized().attempt()
    stored = story.entries[-1]
    assert isinstance(stored.content, Envelope)
    record = folded(story)
    attempt = record.attempt(1, 1)
    assert attempt is not None
    assert (attempt.revision, attempt.nonce) == (stored.revision, stored.content.id)
    assert record.intents == {stored.revision: stored.content.id}
    assert record.calls_made == 1


def test_the_canonical_object_is_never_recomputed() -> None:
    """L8."""
    story, ref = launched()
    story.canonical(story.foreign())
    held = folded(story).canonical()
    assert held is not None
    assert held.ref == ref


@pytest.mark.parametrize("field", ["revision", "nonce", "tenant", "job", "submission", "attempt"])
def test_a_tag_names_our_attempt_only_if_all_of_it_agrees(field: str) -> None:
    """R10, L14."""
    story = Story().submitted().authorized().attempt()
    tag = story.tags[1, 1]
    record = folded(story)
    assert record.attempt_of(tag) is not None
    other = {"revision": tag.revision + 1, "nonce": "0" * 26, "tenant": "x", "job": "x", "submission": 2, "attempt": 2}
    assert record.attempt_of(replace(tag, **{field: other[field]})) is None
    assert record.attempt_of(None) is None


def test_a_submission_is_closed_when_every_attempt_is_refused_or_given_up_or_a_newer_one_is_authorized() -> None:
    story = Story().submitted().authorized().attempt()
    assert not folded(story).closed(folded(story).submissions[0])
    refused = folded(story.replied(ReplyOutcome.REFUSED))
    assert refused.closed(refused.submissions[0])

    story = Story().submitted().authorized().attempt().replied(ReplyOutcome.REFUSED, retry=True)
    assert not folded(story).closed(folded(story).submissions[0]), "it did nothing, and may be tried again"
    story.attempt(1, 2).disposed(AttemptRef(submission=1, attempt=2), Disposition.GONE)
    record = folded(story)
    assert record.closed(record.submissions[0])

    story, _ = launched()
    story.authorized(2, "person", "person/c-9").authorized(3, "person", "person/c-10")
    record = folded(story)
    assert [record.closed(s) for s in record.submissions] == [False, True, False]


# outcome, dispositions, settlement


def test_an_outcome_is_kept_with_its_cause_rule_and_reason() -> None:
    story, _ = run_once(cause=CRASHED)
    record = folded(story.outcome(Outcome.FAILED, cause=CRASHED, rule="rest"))
    assert record.outcome is not None
    assert (record.outcome.outcome, record.outcome.cause, record.outcome.rule) == (Outcome.FAILED, CRASHED, "rest")
    assert record.over


def test_an_adopted_object_answers_the_attempt_and_its_run_is_authorized() -> None:
    story = Story().submitted().authorized().attempt().replied(ReplyOutcome.UNKNOWN)
    other = story.foreign()
    story.seen(story.look(other, Phase.RUNNING, nodes=NODES))
    assert folded(story).objects[other].foreign
    record = folded(story.disposed(other, Disposition.ADOPT, submission=1, attempt=1))
    held = record.objects[other]
    assert (held.submission, held.attempt, held.foreign, held.disposition) == (1, 1, False, Disposition.ADOPT)
    attempt, run = record.attempt(1, 1), held.run_record(0)
    assert attempt is not None
    assert run is not None
    assert (attempt.object, attempt.unmatched, run.authorized) == (other, False, True)


@pytest.mark.parametrize("how", [Disposition.IGNORE, Disposition.GONE])
def test_what_a_person_disposed_of_is_accounted_for(how: Disposition) -> None:
    story, ref = launched()
    story.opened(ref).later(9).running(ref).later(9).seen(missing=(ref,))
    assert not folded(story).objects[ref].accounted
    held = folded(story.disposed(ref, how)).objects[ref]
    assert held.accounted
    assert (held.ignored, held.disposed_gone) == (how is Disposition.IGNORE, how is Disposition.GONE)


def test_what_was_called_gone_and_is_seen_alive_is_no_longer_gone() -> None:
    story, ref = launched()
    story.opened(ref).later(9).seen(missing=(ref,)).disposed(ref, Disposition.GONE).later(9).running(ref)
    held = folded(story).objects[ref]
    assert (held.disposition, held.accounted) == (None, False)


def test_a_verified_stop_accounts_for_an_object_until_it_is_seen_alive() -> None:
    story, ref = launched()
    story.seen(missing=(ref,)).verified(ref)
    held = folded(story).objects[ref]
    assert (held.verified, held.accounted) == (StopBasis.STOP_DONE_AND_ABSENT, True)
    assert not folded(story.later(9).seen((ref, Phase.QUEUED))).objects[ref].accounted


def test_settlement_is_recorded_once_and_stays() -> None:
    story, _ = run_once()
    story.outcome().settled()
    record = folded(story)
    assert (record.settled, record.settled_number) == (True, len(story.entries))
    assert folded(story.later(9).seen((story.foreign(), Phase.RUNNING))).settled


def test_an_event_about_an_object_that_nobody_recorded_changes_nothing_of_objects() -> None:
    story, _ = launched()
    other = story.foreign()
    before = folded(story).objects
    story.retired(other).verified(other).ceased(other).disposed(other, Disposition.STOP)
    assert folded(story).objects == before


def test_a_lifted_hold_takes_the_requeue_that_it_had_asked_for_along() -> None:
    story, ref = launched()
    story.opened(ref).later(9).running(ref).hold_asked()
    story.append(
        events.RequeueAuthorized(
            object=ref, run=0, rule="person", budget_key="person/hold/c-2h4w", not_before_at=story.at
        ),
        Reason.HOLD_NOW,
    )
    assert folded(story).pending_requeue() is not None
    assert folded(story.hold_lifted()).pending_requeue() is None


def test_a_lifted_hold_takes_along_a_requeue_that_was_refused_for_now_and_none_that_may_have_landed() -> None:
    for outcome, pending in ((ReplyOutcome.REFUSED, False), (ReplyOutcome.UNKNOWN, True)):
        story, ref = launched()
        story.opened(ref).later(9).running(ref).hold_asked()
        key = "person/hold/c-2h4w"
        asked = events.RequeueAuthorized(object=ref, run=0, rule="person", budget_key=key, not_before_at=story.at)
        story.append(asked, Reason.HOLD_NOW)
        story.call(Verb.REQUEUE, ref, Reason.HOLD_NOW, run=0).replied(outcome, retry=True)
        assert folded(story).pending_requeue() is not None
        assert (folded(story.hold_lifted()).pending_requeue() is not None) is pending, outcome


def test_times_are_the_writers_and_never_the_stores() -> None:
    story, _ = launched()
    late = [replace(e, stored_at=e.stored_at + timedelta(days=1)) for e in story.entries]
    assert fold(empty(story.tenant, story.job), late) == folded(story)
