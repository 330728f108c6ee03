"""The one way to commit and to call: intent, call, reply; conflicts, undecided appends, late replies (L5 to L7)."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from adapters.errors import (
    DeadlinePassedError,
    OutcomeUnknownError,
    PodsRemainError,
    RefusedError,
    UnreachableError,
)
from adapters.simulated.slurm_mishaps import SlurmPeople
from dispatch import act
from dispatch.situation import Step
from projections.evolve import empty, fold
from projections.record import Record
from streams.errors import ConflictError, UndecidedError
from streams.messages import calls, events
from streams.messages.calls import JobName
from streams.messages.commands import CancelJob, SubmitJob
from streams.messages.events import AttemptCommitted, CallCommitted, CallReplied, SubmissionAuthorized
from streams.messages.reasons import Reason
from streams.messages.spec import JobSpec, Run
from streams.messages.values import Disposition, Floor, HoldKind, ObjectRef, Phase, ReplyOutcome, Verb
from tests.driver import BEGIN, CLUSTER, INSTALLATION
from tests.unit.dispatch.stage import Stage

FIELDS: dict[str, Any] = {"tenant": "nlp", "job": "llama", "at": BEGIN}


def submitted(**fields: Any) -> tuple[Stage, Record]:
    """A job on the bus, submission 1 authorized."""
    stage = Stage(**fields)
    spec = JobSpec(cluster=CLUSTER, run=Run(command=("sleep", "100")))
    stage.order(SubmitJob(command="c-submit", spec=spec, **FIELDS))
    record = recorded(stage)
    event = SubmissionAuthorized(submission=1, rule="submit", budget_key="submit/1.0", not_before_at=stage.at)
    return stage, stage.drive(act.decide(stage.hands, record, event, Reason.FIRST_SUBMISSION))


def recorded(stage: Stage) -> Record:
    return fold(empty("nlp", "llama"), stage.entries())


def attempt(stage: Stage) -> Step:
    deadline = stage.at + timedelta(seconds=60)
    event = AttemptCommitted(
        submission=1, attempt=1, call=1, deadline_at=deadline, over_at=deadline + timedelta(seconds=30)
    )
    return Step(event=event, reason=Reason.LAUNCH)


def cancel(stage: Stage) -> None:
    stage.order(CancelJob(command="c-cancel", **FIELDS))


def kinds(stage: Stage) -> list[str]:
    return [type(e.event).__name__ for e in stage.envelopes()]


# intents


def test_an_accepted_intent_is_followed_by_its_call_and_the_call_by_its_reply() -> None:
    stage, record = submitted()
    record = stage.drive(act.perform(stage.hands, record, attempt(stage)))
    assert record.newest is not None
    assert [a.attempt for a in record.newest.attempts] == [1]
    assert stage.cluster.jobs == [], "sent beside the pass, not in it"
    (call,) = stage._calls
    stage.drive(call)
    assert kinds(stage)[-2:] == ["AttemptCommitted", "CallReplied"]
    (job,) = stage.cluster.jobs
    assert recorded(stage).attempts[0].object == job.ref


def test_the_object_carries_revision_and_id_of_the_event_that_authorized_it() -> None:
    """L14."""
    stage, record = submitted()
    stage.drive(act.perform(stage.hands, record, attempt(stage)))
    stage.drive(stage._calls.pop())
    entry = stage.entries()[2]
    tag = stage.cluster.jobs[0].tag
    assert tag is not None
    assert isinstance(entry.content, events.Envelope)
    assert (tag.revision, tag.nonce, tag.installation) == (entry.revision, entry.content.id, INSTALLATION)
    found = stage.quietly(stage.adapter.find(JobName(installation=INSTALLATION, tenant="nlp", job="llama")))
    assert found.floor == Floor(revision=entry.revision, nonce=entry.content.id)


def test_no_call_follows_an_intent_that_met_a_conflict() -> None:
    """L2, L5: a cancel was committed between the read and the append."""
    stage, record = submitted()
    cancel(stage)
    with pytest.raises(ConflictError):
        stage.drive(act.perform(stage.hands, record, attempt(stage)))
    assert stage._calls == []
    assert "AttemptCommitted" not in kinds(stage)


@pytest.mark.parametrize("stored", [False, True], ids=["lost", "stored"])
def test_no_call_follows_an_intent_that_nobody_confirmed(stored: bool) -> None:
    """L7: also where it is stored; another pass finds an attempt without a reply."""
    stage, record = submitted(undecided_at=2, undecided_stored=stored)
    with pytest.raises(UndecidedError):
        stage.drive(act.perform(stage.hands, record, attempt(stage)))
    assert stage._calls == []
    assert ("AttemptCommitted" in kinds(stage)) is stored


def test_the_second_of_two_supervisors_with_one_decision_sends_nothing() -> None:
    """L7, R12: a call is sent only by the pass whose own append of its intent was accepted."""
    stage, record = submitted()
    other = stage.new_hands()
    stage.drive(act.perform(stage.hands, record, attempt(stage)))
    with pytest.raises(ConflictError):
        stage.drive(act.perform(other, record, attempt(stage)))
    assert len(stage._calls) == 1
    stage.drive(stage._calls.pop())


def test_a_decision_that_is_no_call_sends_nothing() -> None:
    stage, _ = submitted()
    assert stage._calls == []
    assert kinds(stage) == ["JobSubmitted", "SubmissionAuthorized"]


def test_who_asked_is_kept_with_the_decision() -> None:
    stage, record = submitted()
    asked = act.Asked("c-hold", "ana", "bo", "debugging", BEGIN)
    event = events.HoldAsked(instance="c-hold", rule="person", kind=HoldKind.PERSON)
    stage.drive(act.decide(stage.hands, record, event, Reason.PERSON_HOLD, asked))
    stored = stage.envelopes()[-1]
    assert (stored.command, stored.actor, stored.on_behalf_of, stored.note, stored.asked_at) == asked
    assert (stored.expected, stored.by, stored.reason) == (record.revision, "replica:sv-1", Reason.PERSON_HOLD)


# evidence


def reply(outcome: ReplyOutcome = ReplyOutcome.DONE, **fields: Any) -> CallReplied:
    return CallReplied(call=1, outcome=outcome, **fields)


def test_evidence_that_meets_a_conflict_is_appended_at_the_revision_that_is_now() -> None:
    """L6."""
    stage, record = submitted()
    cancel(stage)
    record, moved = stage.drive(act.witness(stage.hands, record, lambda _: reply()))
    assert moved
    assert kinds(stage)[-2:] == ["JobCancelled", "CallReplied"]
    assert record == recorded(stage)
    assert stage.envelopes()[-1].expected == stage.entries()[-2].revision


class LaggingHistory:
    """A history whose reads lack the newest event, so many times."""

    def __init__(self, stage: Stage, times: int) -> None:
        self._history = stage.hands.history
        self.left = times

    async def read(self, tenant: str, job: str, *, after: int = 0) -> tuple[events.Entry, ...]:
        entries = await self._history.read(tenant, job, after=after)
        self.left -= 1
        return entries[:-1] if self.left >= 0 else entries

    async def append(self, stored: events.Envelope) -> int:
        return await self._history.append(stored)


def test_evidence_outlasts_a_server_whose_reads_lag() -> None:
    """L6: a reply that meets the same conflict a dozen times is stored all the same."""
    stage, record = submitted()
    cancel(stage)
    history = LaggingHistory(stage, times=12)
    hands = replace(stage.hands, history=history)  # type: ignore[arg-type]  # what evidence needs of a history
    stage.drive(act.witness(hands, record, lambda _: reply()))
    assert history.left < 0
    assert kinds(stage)[-2:] == ["JobCancelled", "CallReplied"]


def test_evidence_that_is_news_no_more_is_dropped() -> None:
    """L6: only what no longer changes the record."""
    stage, record = submitted()
    cancel(stage)
    record, moved = stage.drive(act.witness(stage.hands, record, lambda now: None if now.cancel else reply()))
    assert moved
    assert kinds(stage)[-1] == "JobCancelled"
    assert record.cancel is not None


def test_evidence_without_a_conflict_moves_nothing() -> None:
    stage, record = submitted()
    record, moved = stage.drive(act.witness(stage.hands, record, lambda _: reply()))
    assert not moved
    assert kinds(stage)[-1] == "CallReplied"


@pytest.mark.parametrize("stored", [False, True], ids=["lost", "stored"])
def test_evidence_that_nobody_confirmed_is_stored_once(stored: bool) -> None:
    """R22: our own event is recognised by its id before it is appended again."""
    stage, record = submitted(undecided_at=2, undecided_stored=stored)
    record, moved = stage.drive(act.witness(stage.hands, record, lambda _: reply()))
    assert moved
    assert kinds(stage).count("CallReplied") == 1
    assert record == recorded(stage)


# one call, three outcomes


class Answering:
    """An adapter that answers every call in one way."""

    def __init__(self, error: Exception | None = None, made: ObjectRef | None = None) -> None:
        self.error, self.made = error, made

    async def start(self, call: calls.StartCall) -> ObjectRef | None:
        if self.error is not None:
            raise self.error
        return self.made


@pytest.mark.parametrize(
    ("error", "outcome", "retry"),
    [
        (RefusedError("invalid account"), ReplyOutcome.REFUSED, False),
        (DeadlinePassedError("3s past its deadline"), ReplyOutcome.REFUSED, True),
        (UnreachableError("no way to the host"), ReplyOutcome.REFUSED, True),
        (PodsRemainError("bert-0 is terminating"), ReplyOutcome.REFUSED, True),
        (OutcomeUnknownError("no answer in 30s"), ReplyOutcome.UNKNOWN, False),
        (KeyError("job_id"), ReplyOutcome.UNKNOWN, False),
        (TimeoutError(), ReplyOutcome.UNKNOWN, False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_an_adapter_raises_says_whether_anything_was_done(
    error: Exception, outcome: ReplyOutcome, retry: bool
) -> None:
    """R16, L9: only a clear refusal counts as one; what nobody foresaw is unknown."""
    stage, record = submitted()
    record = stage.drive(act.decide(stage.hands, record, attempt(stage).event, Reason.LAUNCH))
    call = act.call_of(record, attempt(stage).event, INSTALLATION)
    replied = stage.drive(act.answer(Answering(error), call))  # type: ignore[arg-type]
    assert (replied.call, replied.outcome, replied.retry, replied.object) == (1, outcome, retry, None)


def test_an_answer_is_told_in_at_most_five_hundred_characters() -> None:
    stage, record = submitted()
    record = stage.drive(act.decide(stage.hands, record, attempt(stage).event, Reason.LAUNCH))
    call = act.call_of(record, attempt(stage).event, INSTALLATION)
    replied = stage.drive(act.answer(Answering(RefusedError("x" * 9000)), call))  # type: ignore[arg-type]
    assert len(replied.detail) == 500


def started(stage: Stage, record: Record) -> Record:
    """Attempt 1 committed, its call carried out and answered."""
    stage.drive(act.perform(stage.hands, record, attempt(stage)))
    stage.drive(stage._calls.pop())
    return recorded(stage)


def intent(stage: Stage, verb: Verb, ref: ObjectRef | None, **fields: Any) -> Step:
    deadline = stage.at + timedelta(seconds=30)
    event = CallCommitted(
        call=recorded(stage).calls_made + 1,
        verb=verb,
        object=ref,
        deadline_at=deadline,
        over_at=deadline + timedelta(seconds=30),
        as_of=stage.at,
        **fields,
    )
    return Step(event=event, reason=Reason.GATE_FREE)


def sent(stage: Stage, verb: Verb, ref: ObjectRef | None, **fields: Any) -> CallReplied:
    """One call of this verb, committed and carried out; its reply as stored."""
    stage.drive(act.perform(stage.hands, recorded(stage), intent(stage, verb, ref, **fields)))
    stage.drive(stage._calls.pop())
    event = stage.envelopes()[-1].event
    assert isinstance(event, CallReplied)
    return event


def test_each_verb_does_to_the_object_what_it_says() -> None:
    stage, record = submitted()
    started(stage, record)
    (job,) = stage.cluster.jobs
    assert stage.cluster.truth.executions == []
    assert sent(stage, Verb.OPEN, job.ref, run=0).outcome is ReplyOutcome.DONE
    stage.pass_time(1)
    assert stage.cluster.truth.living != []
    assert sent(stage, Verb.HOLD, job.ref, instances=("h",)).outcome is ReplyOutcome.DONE
    assert sent(stage, Verb.RELEASE, job.ref, instances=("h",)).outcome is ReplyOutcome.DONE
    assert sent(stage, Verb.REQUEUE, job.ref, run=0).outcome is ReplyOutcome.DONE
    stage.pass_time(1)
    assert (job.phase, job.run) == (Phase.GATED, 1)
    assert sent(stage, Verb.STOP, job.ref).outcome is ReplyOutcome.DONE
    assert job.phase is Phase.ENDED


def test_a_stop_by_name_spares_what_a_person_ignores() -> None:
    stage, record = submitted()
    started(stage, record)
    people = SlurmPeople(stage.cluster)  # type: ignore[arg-type]
    name = stage.cluster.jobs[0].name
    stranger = people.submit(name)
    seen = events.ObjectsSeen(as_of=stage.at, read_revision=1, sightings=(stranger.sighting(),))
    stage.drive(act.witness(stage.hands, recorded(stage), lambda _: seen))
    disposed = events.TargetDisposed(target=stranger.ref, disposition=Disposition.IGNORE, rule="person")
    stage.drive(act.decide(stage.hands, recorded(stage), disposed, Reason.PERSON_DISPOSED))
    assert sent(stage, Verb.STOP_JOB, None).outcome is ReplyOutcome.DONE
    assert [job.phase for job in stage.cluster.jobs] == [Phase.ENDED, Phase.QUEUED]


def test_an_open_past_its_committed_deadline_is_refused_for_now() -> None:
    """L10: a late call never undoes a newer decision, and a new intent may follow."""
    stage, record = submitted()
    started(stage, record)
    (job,) = stage.cluster.jobs
    stage.drive(act.perform(stage.hands, recorded(stage), intent(stage, Verb.OPEN, job.ref, run=0)))
    stage.pass_time(31)
    stage.drive(stage._calls.pop())
    replied = stage.envelopes()[-1].event
    assert isinstance(replied, CallReplied)
    assert (replied.outcome, replied.retry) == (ReplyOutcome.REFUSED, True)
    assert job.phase is Phase.GATED


# late replies


def test_a_late_reply_after_an_unknown_is_appended_and_wins() -> None:
    stage, record = submitted()
    stage.drive(act.decide(stage.hands, record, attempt(stage).event, Reason.LAUNCH))
    record = recorded(stage)
    call = act.call_of(record, attempt(stage).event, INSTALLATION)
    unknown = Answering(OutcomeUnknownError("no answer in 30s"))
    stage.drive(act.send(stage.hands, unknown, record, call))  # type: ignore[arg-type]
    made = ObjectRef(cluster=CLUSTER, id="88213", created="x")
    stage.drive(act.send(stage.hands, Answering(made=made), record, call))  # type: ignore[arg-type]
    assert kinds(stage)[-2:] == ["CallReplied", "CallReplied"]
    assert recorded(stage).attempts[0].object == made


@pytest.mark.parametrize("late", [ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED])
def test_a_late_reply_after_a_clear_one_is_no_news(late: ReplyOutcome) -> None:
    stage, record = submitted()
    started(stage, record)
    before = kinds(stage)
    record = recorded(stage)
    call = calls.StartCall(
        name=JobName(installation=INSTALLATION, tenant="nlp", job="llama"),
        call=1,
        deadline_at=stage.at,
        pair=Floor(revision=3, nonce=record.intents[3]),
        tag=stage.cluster.jobs[0].tag,  # type: ignore[arg-type]
        spec=record.spec,  # type: ignore[arg-type]
    )
    error = RefusedError("no") if late is ReplyOutcome.REFUSED else OutcomeUnknownError("no answer")
    stage.drive(act.send(stage.hands, Answering(error), record, call))  # type: ignore[arg-type]
    assert kinds(stage) == before


def test_the_same_unknown_is_told_once() -> None:
    """R21."""
    stage, record = submitted()
    stage.drive(act.decide(stage.hands, record, attempt(stage).event, Reason.LAUNCH))
    record = recorded(stage)
    call = act.call_of(record, attempt(stage).event, INSTALLATION)
    for _ in range(3):
        unknown: Coroutine[Any, Any, None] = act.send(
            stage.hands,
            Answering(OutcomeUnknownError("no answer")),  # type: ignore[arg-type]
            record,
            call,
        )
        stage.drive(unknown)
    assert kinds(stage).count("CallReplied") == 1


def test_a_reply_that_nobody_confirmed_still_asks_for_a_pass() -> None:
    """Its call is unknown until its bound has passed, and the next pass looks."""
    stage, record = submitted()
    stage.drive(act.perform(stage.hands, record, attempt(stage)))
    stage.undecided_at = stage.appends + 1
    stage.drive(stage._calls.pop())
    assert stage.labels[-1] == "wake nlp.llama"
