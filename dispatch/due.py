"""When a job has to be looked at again, though nothing wakes it. A timer is only a wake-up (L13)."""

from __future__ import annotations

from datetime import datetime, timedelta

from dispatch.next_steps import calls, ends, launch, stop
from dispatch.situation import Situation
from streams.messages.values import Verb

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
    """Waits that this side's clock ends: backoffs, brakes, and the pause before the next Start."""
    times = []
    newest, last = situation.newest, next(reversed(situation.record.requeues), None)
    if newest is not None:
        times.append(newest.not_before_at)
        if newest.attempts and newest.attempts[-1].made_nothing:
            times.append(launch.start_again_at(newest))
    if last is not None:
        times.append(last.not_before_at)
    cluster = situation.spec.cluster
    standing = (situation.controls.standing(None), situation.controls.standing(cluster))
    times += [c.brake_until_at for c in standing if c.brake_until_at is not None]
    return [t for t in times if t > situation.now]


def _host_times(situation: Situation) -> list[datetime]:
    """Waits that the scheduler host's clock ends."""
    times = [*_of_calls(situation), *_of_starts(situation), *_of_runs(situation)]
    return [t for t in times if t > situation.as_of]


def _of_calls(situation: Situation) -> list[datetime]:
    """Until a call can land no more, and until one without effect may be sent again."""
    times = []
    for call in situation.record.calls.values():
        over = call.over(situation.as_of)
        times.append(calls.repeat_at(call) if over else call.over_at)
        if call.verb is Verb.STOP and call.closed and call.retry:
            times.append(stop.again_at(situation, call))
    return times


def _of_starts(situation: Situation) -> list[datetime]:
    """Deadline and bound of Starts without a clear reply.

    Also of those that a person gave up: settlement waits until they can land no more.
    """
    loose = [a for a in situation.record.attempts if a.object is None and not a.made_nothing]
    return [t for a in loose for t in (a.deadline_at, a.over_at)]


def _of_runs(situation: Situation) -> list[datetime]:
    """Until a run must have begun, accounting must have answered, or processes count as gone."""
    times = []
    presumed_after = situation.capabilities.presume_after_s
    for ref, held in situation.record.objects.items():
        seen = situation.shown.get(ref)
        begins_by = stop.begins_by(situation, held, seen) if seen is not None else None
        if begins_by is not None:
            times.append(begins_by)
        for run in held.runs:
            if run.ended_as_of is None:
                continue
            if run.cause is None or not run.cause.final:
                times.append(run.ended_as_of + ends.ACCOUNTING_WAIT)
            if presumed_after is not None and not run.proven:
                times.append((run.again_as_of or run.ended_as_of) + timedelta(seconds=presumed_after))
    return times


def _here(situation: Situation, host: datetime) -> datetime:
    return situation.now + max(host - situation.host_now, timedelta(0))
