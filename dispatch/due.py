"""When a job has to be looked at again, though nothing wakes it. A timer is only a wake-up (L13)."""

from __future__ import annotations

from datetime import datetime, timedelta

from dispatch.situation import Situation

SOON = timedelta(milliseconds=100)
WATCHED_STRETCH = 10  # where changes are told, looking without being told is only a safety net (R15)


def due_at(situation: Situation) -> datetime | None:
    """The earliest time, on this process's clock, at which another pass could find something to do.

    None once the job is settled: from then on only the sweep looks.
    """
    record = situation.record
    if record.settled:
        return None
    able = situation.capabilities
    poll = situation.now + timedelta(seconds=able.find_every_s * (WATCHED_STRETCH if able.watch else 1))
    times = [poll, *_own_times(situation), *(_here(situation, t) for t in _host_times(situation))]
    return max(min(times), situation.now + SOON)


def _own_times(situation: Situation) -> list[datetime]:
    """Waits that this side's clock ends: backoffs and brakes."""
    times = []
    newest, last = situation.newest, next(reversed(situation.record.requeues), None)
    if newest is not None and newest.not_before_at > situation.now:
        times.append(newest.not_before_at)
    if last is not None and last.not_before_at > situation.now:
        times.append(last.not_before_at)
    cluster = situation.spec.cluster
    standing = (situation.controls.standing(None), situation.controls.standing(cluster))
    brakes = [c.brake_until_at for c in standing if c.brake_until_at is not None]
    return [*times, *(until for until in brakes if until > situation.now)]


def _host_times(situation: Situation) -> list[datetime]:
    """Waits that the scheduler host's clock ends: deadlines and bounds of calls without a clear reply."""
    times = [c.over_at for c in situation.record.calls.values() if not c.over(situation.as_of)]
    # Also those that a person gave up: settlement waits until they can land no more.
    loose = [a for a in situation.record.attempts if a.object is None and not a.made_nothing]
    return [*times, *(t for a in loose for t in (a.deadline_at, a.over_at) if t > situation.as_of)]


def _here(situation: Situation, host: datetime) -> datetime:
    return situation.now + max(host - situation.host_now, timedelta(0))
