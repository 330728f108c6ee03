"""The brake: ten jobs and a fifth of those running that end within ten seconds make retries wait (R14)."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from dispatch.brake import Bursts, Ended, brake
from projections.controls import Control
from streams.messages.events import Entry, Envelope, Event, JobSettled, ObjectsSeen, Quarantined
from streams.messages.reasons import Reason
from streams.messages.values import Cause, CauseKind, ObjectRef, Phase, Sighting

NOW = datetime(2026, 11, 30, 2, 41, 40, tzinfo=UTC)
FREE = Control(cluster="hpc2")
PLACE = ("nlp", "hpc2")
_revisions = itertools.count(1)


def ends(count: int, *, within_s: float = 4.0, at: datetime = NOW, first: int = 0) -> list[Ended]:
    """So many jobs that ended, evenly spread over the seconds before `at`."""
    step = within_s / max(count - 1, 1)
    moments = [at - timedelta(seconds=within_s - step * place) for place in range(count)]
    return [Ended(f"job-{first + place}", moment, moment) for place, moment in enumerate(moments)]


def test_many_ends_in_one_instant_pull_it_for_a_quarter_of_an_hour_and_say_why() -> None:
    pulled = brake(ends(31), 12, FREE, NOW)
    assert pulled is not None
    assert pulled.cluster == "hpc2"
    assert pulled.brake_until_at == NOW + timedelta(minutes=15)
    assert pulled.brake_cause == "31 jobs ended within 4s, 12 still ran"


def test_nine_jobs_do_not_pull_it_and_ten_do() -> None:
    assert brake(ends(9), 0, FREE, NOW) is None
    assert brake(ends(10), 0, FREE, NOW) is not None


def test_ten_jobs_of_more_than_fifty_do_not_pull_it() -> None:
    assert brake(ends(10), 40, FREE, NOW) is not None
    assert brake(ends(10), 41, FREE, NOW) is None


def test_ends_that_are_spread_out_do_not_pull_it() -> None:
    assert brake(ends(10, within_s=10), 0, FREE, NOW) is not None
    assert brake(ends(10, within_s=11.5), 0, FREE, NOW) is None


def test_one_job_that_ends_ten_times_is_one_job() -> None:
    one = [Ended("job-1", end.as_of, end.at) for end in ends(10)]
    assert brake(one, 0, FREE, NOW) is None


def test_a_brake_keeps_the_kill_switch_and_observe_as_they_stood() -> None:
    standing = Control(cluster="hpc2", retries=False, observe=True)
    pulled = brake(ends(10), 0, standing, NOW)
    assert pulled is not None
    assert (pulled.retries, pulled.observe) == (False, True)


def test_the_ends_that_pulled_it_do_not_pull_it_again_after_a_person_lifted_it() -> None:
    lifted = Control(cluster="hpc2", set_at=NOW + timedelta(seconds=30))
    later = NOW + timedelta(minutes=1)
    assert brake(ends(31), 0, lifted, later) is None
    fresh = ends(10, at=later, first=100)
    assert brake([*ends(31), *fresh], 0, lifted, later) is not None


def test_a_new_burst_prolongs_a_standing_brake_but_not_twice_a_minute() -> None:
    standing = Control(cluster="hpc2", brake_until_at=NOW + timedelta(minutes=15), set_at=NOW)
    soon, later = NOW + timedelta(seconds=30), NOW + timedelta(minutes=5)
    assert brake(ends(10, at=soon, first=100), 0, standing, soon) is None
    prolonged = brake(ends(10, at=later, first=100), 0, standing, later)
    assert prolonged is not None
    assert prolonged.brake_until_at == later + timedelta(minutes=15)


def test_a_brake_that_ran_out_is_pulled_anew_only_by_new_ends() -> None:
    over = Control(cluster="hpc2", brake_until_at=NOW - timedelta(minutes=1), set_at=NOW - timedelta(minutes=16))
    assert brake(ends(10, at=NOW - timedelta(minutes=17)), 0, over, NOW) is None
    assert brake(ends(10), 0, over, NOW) is not None


# what is kept of the history


def entry(job: str, event: Event, at: datetime = NOW, *, tenant: str = "nlp") -> Entry:
    revision = next(_revisions)
    reason = Reason.ALL_CLAUSES_HOLD if isinstance(event, JobSettled) else None
    envelope = Envelope(
        id=f"{revision:026d}",
        tenant=tenant,
        job=job,
        expected=revision - 1,
        at=at,
        by="replica:sv-a",
        event=event,
        reason=reason,
    )
    return Entry(tenant=tenant, job=job, revision=revision, stored_at=at, content=envelope)


def seen(
    job: str, phase: Phase, at: datetime = NOW, cause: CauseKind = CauseKind.NODE_LOST, *, final: bool = True
) -> Entry:
    """Evidence of the job's one object in that phase."""
    ref = ObjectRef(cluster="hpc2", id=f"of-{job}", created=job)
    told = Cause(kind=cause, final=final) if phase is Phase.ENDED else None
    sighting = Sighting(object=ref, phase=phase, cause=told)
    return entry(job, ObjectsSeen(as_of=at, read_revision=0, sightings=(sighting,)), at)


def test_jobs_are_counted_as_running_from_their_start_to_their_end() -> None:
    bursts = Bursts()
    for number in range(3):
        assert bursts.apply(seen(f"job-{number}", Phase.RUNNING)) == ()
    assert bursts.running(PLACE) == 3
    assert bursts.apply(seen("job-0", Phase.ENDED)) == (PLACE,)
    assert bursts.running(PLACE) == 2
    assert [end.job for end in bursts.ends(PLACE)] == ["job-0"]
    bursts.apply(entry("job-1", JobSettled(as_of=NOW)))
    assert bursts.running(PLACE) == 1
    assert bursts.running(("vision", "hpc2")) == 0


def test_an_end_counts_once_though_accounting_refines_its_cause() -> None:
    bursts = Bursts()
    bursts.apply(seen("job-0", Phase.RUNNING))
    assert bursts.apply(seen("job-0", Phase.ENDED, final=False)) == (PLACE,)
    assert bursts.apply(seen("job-0", Phase.ENDED)) == ()
    assert len(bursts.ends(PLACE)) == 1


def test_ends_that_somebody_asked_for_and_completed_ones_do_not_count() -> None:
    bursts = Bursts()
    for number, cause in enumerate((CauseKind.COMPLETED, CauseKind.STOPPED, CauseKind.STOPPED_OUTSIDE)):
        bursts.apply(seen(f"job-{number}", Phase.RUNNING))
        assert bursts.apply(seen(f"job-{number}", Phase.ENDED, cause=cause)) == ()
    assert bursts.ends(PLACE) == ()


def test_a_launch_that_failed_before_anything_ran_counts() -> None:
    bursts = Bursts()
    assert bursts.apply(seen("job-0", Phase.ENDED, cause=CauseKind.LAUNCH_FAILED)) == (PLACE,)


def test_what_comes_of_a_settled_job_is_neither_an_end_nor_kept() -> None:
    bursts = Bursts()
    bursts.apply(seen("job-0", Phase.RUNNING))
    assert bursts.apply(seen("job-0", Phase.ENDED, final=False)) == (PLACE,)
    bursts.apply(entry("job-0", JobSettled(as_of=NOW)))
    assert bursts.apply(seen("job-0", Phase.ENDED)) == ()
    assert bursts.apply(seen("job-0", Phase.RUNNING)) == ()
    assert (bursts.running(PLACE), len(bursts.ends(PLACE))) == (0, 1)
    assert bursts._phases == {}


def test_of_settled_jobs_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dispatch.brake.SETTLED_MAX", 3)
    bursts = Bursts()
    for number in range(10):
        bursts.apply(entry(f"job-{number}", JobSettled(as_of=NOW)))
    assert list(bursts._settled) == [("nlp", f"job-{number}") for number in (7, 8, 9)]


def test_old_ends_are_forgotten() -> None:
    bursts = Bursts()
    bursts.apply(seen("job-0", Phase.ENDED, NOW))
    bursts.apply(seen("job-1", Phase.ENDED, NOW + timedelta(minutes=1)))
    assert [end.job for end in bursts.ends(PLACE)] == ["job-1"]


def test_a_follower_that_begins_late_is_told_who_runs() -> None:
    bursts = Bursts()
    bursts.restore([("nlp", "hpc2", f"job-{number}") for number in range(100)])
    for number in range(10):
        bursts.apply(seen(f"job-{number}", Phase.ENDED))
    assert bursts.running(PLACE) == 90
    assert brake(bursts.ends(PLACE), bursts.running(PLACE), FREE, NOW) is None


def test_what_nobody_can_read_is_no_end() -> None:
    held = seen("job-0", Phase.ENDED)
    unread = Entry(
        tenant=held.tenant, job=held.job, revision=1, stored_at=NOW, content=Quarantined(why="not an envelope")
    )
    assert Bursts().apply(unread) == ()
