"""Which jobs a replica holds as open, and for how long it looks at those that are settled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dispatch.replica.follower import SETTLED_WATCHED, OpenJobs
from streams.messages.event_ids import event_id
from streams.messages.events import (
    CallReplied,
    Entry,
    Envelope,
    Event,
    HoldLifted,
    JobSettled,
    JobSubmitted,
    Quarantined,
)
from streams.messages.plan import RecoveryPlan
from streams.messages.reasons import Reason
from streams.messages.spec import JobSpec, Run
from streams.messages.values import ReplyOutcome

T0 = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
LLAMA = ("nlp", "llama")
LATER = SETTLED_WATCHED + timedelta(minutes=1)
SUBMITTED = JobSubmitted(spec=JobSpec(cluster="sim", run=Run(command=("a",))), plan=RecoveryPlan(), digest="d")
LATE_REPLY = CallReplied(call=1, outcome=ReplyOutcome.DONE)


def entry(revision: int, event: Event | None, at: datetime, *, expected: int = 1) -> Entry:
    """An event of llama, or foreign bytes."""
    content = (
        Quarantined(why="not ours")
        if event is None
        else Envelope(
            id=event_id(T0, revision.to_bytes(10, "big")),
            tenant="nlp",
            job="llama",
            expected=expected,
            at=at,
            by="replica:sv-a",
            reason=Reason.PERSON_RELEASE,
            event=event,
        )
    )
    return Entry(tenant="nlp", job="llama", revision=revision, stored_at=at, content=content)


def settled(jobs: OpenJobs) -> OpenJobs:
    """Llama is submitted and, two minutes later, settled."""
    jobs.apply(entry(1, SUBMITTED, T0, expected=0))
    assert jobs.to_look_at(T0) == (LLAMA,)
    jobs.apply(entry(2, JobSettled(), T0 + timedelta(minutes=2)))
    return jobs


def test_a_settled_job_is_looked_at_for_an_hour() -> None:
    jobs = settled(OpenJobs())
    assert jobs.open == set()
    assert jobs.to_look_at(T0 + timedelta(minutes=61)) == (LLAMA,)
    assert jobs.to_look_at(T0 + timedelta(minutes=62)) == ()


def test_a_late_event_of_a_settled_job_has_it_looked_at_for_an_hour_and_not_for_good() -> None:
    for late in (LATE_REPLY, None, HoldLifted(instances=("h-1",))):
        jobs = settled(OpenJobs())
        assert jobs.to_look_at(T0 + timedelta(hours=8)) == ()
        jobs.apply(entry(3, late, T0 + timedelta(hours=8)))
        assert jobs.open == set()
        assert jobs.to_look_at(T0 + timedelta(hours=8)) == (LLAMA,)
        assert jobs.to_look_at(T0 + timedelta(hours=8) + LATER) == ()


def test_a_replica_that_started_after_the_settlement_takes_a_late_event_for_one_too() -> None:
    jobs = OpenJobs()
    jobs.apply(entry(3, LATE_REPLY, T0))
    assert jobs.open == set()
    assert jobs.to_look_at(T0) == (LLAMA,)
    assert jobs.to_look_at(T0 + LATER) == ()


def test_a_late_event_soon_after_the_settlement_is_looked_at_for_an_hour_from_then() -> None:
    jobs = settled(OpenJobs())
    jobs.apply(entry(3, LATE_REPLY, T0 + timedelta(minutes=50)))
    assert jobs.to_look_at(T0 + timedelta(minutes=100)) == (LLAMA,)


def test_an_event_of_an_open_job_leaves_it_open_and_one_behind_foreign_bytes_opens_it() -> None:
    jobs = OpenJobs()
    jobs.apply(entry(1, None, T0))
    jobs.apply(entry(2, SUBMITTED, T0))
    jobs.apply(entry(3, LATE_REPLY, T0))
    assert jobs.open == {LLAMA}
    assert jobs.to_look_at(T0 + timedelta(days=9)) == (LLAMA,)
