"""The brake: many jobs that ended in one instant make retries wait (R14).

A lost switch, file system or partition ends jobs by the hundred; each alone would be retried at once, onto the same
fault. The brake binds retries only, is lifted by hand or by itself, and no law rests on it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from projections.controls import Control
from streams.messages.events import ControlsSet, Entry, Envelope, JobSettled, ObjectsSeen
from streams.messages.values import CauseKind, ObjectRef, Phase, Sighting

WINDOW = timedelta(seconds=10)
JOBS_MIN = 10
SHARE = 5
BRAKES_FOR = timedelta(minutes=15)
AGAIN_AFTER = timedelta(minutes=1)
SETTLED_MAX = 20_000
ASKED_FOR = (CauseKind.COMPLETED, CauseKind.STOPPED, CauseKind.STOPPED_OUTSIDE)
ON = (Phase.RUNNING, Phase.ENDING)

Place = tuple[str, str]


class Ended(NamedTuple):
    """One job's run seen ended: `as_of` by the host's clock of the Find, `at` by the clock of who wrote it down."""

    job: str
    as_of: datetime
    at: datetime


def brake(ends: Iterable[Ended], running: int, standing: Control, now: datetime) -> ControlsSet | None:
    """The controls that these ends on one cluster call for, or None. `running`: jobs of it that still run.

    Ends that were written down before the standing controls were set are known to whoever set them. While a brake
    stands, a new burst prolongs it, at most once a minute.
    """
    news = [e for e in ends if standing.set_at is None or e.at > standing.set_at]
    burst = _densest(news)
    jobs = len({e.job for e in burst})
    if jobs < JOBS_MIN or jobs * SHARE < running + jobs:
        return None
    until = now + BRAKES_FOR
    braked = standing.brake_until_at
    if braked is not None and braked > now and until < braked + AGAIN_AFTER:
        return None
    lasted_s = max((burst[-1].as_of - burst[0].as_of).total_seconds(), 0)
    return ControlsSet(
        cluster=standing.cluster,
        retries=standing.retries,
        brake_until_at=until,
        brake_cause=f"{jobs} jobs ended within {lasted_s:.0f}s, {running} still ran",
        observe=standing.observe,
    )


def _densest(ends: Iterable[Ended]) -> list[Ended]:
    """The ends of the window with the most jobs in it, oldest first; of several the latest."""
    ordered = sorted(ends, key=lambda e: e.as_of)
    best: list[Ended] = []
    window: deque[Ended] = deque()
    for end in ordered:
        window.append(end)
        while end.as_of - window[0].as_of > WINDOW:
            window.popleft()
        if len({e.job for e in window}) >= len({e.job for e in best}):
            best = list(window)
    return best


class Bursts:
    """What the brake looks at, kept from every entry of the history in order: who runs, and who ended lately.

    By tenant and cluster. Ends that somebody asked for, and completed ones, call for no retry and do not count; nor does
    what is seen of a settled job, which has none. `SETTLED_MAX` of those settled last are known as such.
    """

    def __init__(self) -> None:
        self._phases: dict[tuple[str, str], dict[ObjectRef, Phase]] = {}
        self._running: dict[Place, set[str]] = {}
        self._ends: dict[Place, deque[Ended]] = {}
        self._settled: OrderedDict[tuple[str, str], None] = OrderedDict()

    def restore(self, running: Iterable[tuple[str, str, str]]) -> None:
        """Begin from jobs known to run (tenant, cluster, job), where the history is not followed from its start."""
        for tenant, cluster, job in running:
            self._running.setdefault((tenant, cluster), set()).add(job)

    def apply(self, entry: Entry) -> tuple[Place, ...]:
        """One more entry of any job; the places where the job ended by it."""
        content = entry.content
        if not isinstance(content, Envelope):
            return ()
        if isinstance(content.event, JobSettled):
            self._let_go(entry.tenant, entry.job)
            return ()
        if not isinstance(content.event, ObjectsSeen) or (entry.tenant, entry.job) in self._settled:
            return ()
        ended = [self._see(entry, content.at, content.event.as_of, seen) for seen in content.event.sightings]
        return tuple(dict.fromkeys(place for place in ended if place is not None))

    def _let_go(self, tenant: str, job: str) -> None:
        """The job is settled: what comes of it later, such as a cause that accounting refines, brings nothing back."""
        self._phases.pop((tenant, job), None)
        for (of, _), jobs in self._running.items():
            if of == tenant:
                jobs.discard(job)
        self._settled[(tenant, job)] = None
        if len(self._settled) > SETTLED_MAX:
            self._settled.popitem(last=False)

    def _see(self, entry: Entry, at: datetime, as_of: datetime, seen: Sighting) -> Place | None:
        """Note what is seen of one object; its place if that is a new end that counts."""
        place = (entry.tenant, seen.object.cluster)
        phases = self._phases.setdefault((entry.tenant, entry.job), {})
        known = phases.get(seen.object)
        phases[seen.object] = seen.phase
        running = self._running.setdefault(place, set())
        if any(phase in ON for phase in phases.values()):
            running.add(entry.job)
        else:
            running.discard(entry.job)
        if seen.phase is not Phase.ENDED or known is Phase.ENDED:
            return None
        if seen.cause is not None and seen.cause.kind in ASKED_FOR:
            return None
        ends = self._ends.setdefault(place, deque())
        ends.append(Ended(entry.job, as_of, at))
        while as_of - ends[0].as_of > 2 * WINDOW:
            ends.popleft()
        return place

    def running(self, place: Place) -> int:
        """How many jobs of the place run, as last seen."""
        return len(self._running.get(place, ()))

    def ends(self, place: Place) -> tuple[Ended, ...]:
        """Who ended there lately, in the order of the history."""
        return tuple(self._ends.get(place, ()))
