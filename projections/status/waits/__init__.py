"""What a job waits for, the most pressing first: those that need a person, then what stands before its next step."""

from __future__ import annotations

from msgspec.structs import replace

from projections.status.picture import Picture, unauthorized
from projections.status.state import running_run
from projections.status.view import SETTLED, Nature
from projections.status.waits.closing import closing
from projections.status.waits.ending import ending
from projections.status.waits.launch import launching
from projections.status.waits.people import (
    absent,
    foreigners,
    holds,
    left_alone,
    regressed,
    strange,
    stuck,
    unmatched,
)
from projections.status.waits.proof import proofs
from projections.status.waits.recovery import recovering
from projections.status.waits.waiting import PATIENCE, Waiting

__all__ = ["PATIENCE", "Waiting", "waitings"]


def waitings(picture: Picture) -> tuple[Waiting, ...]:
    """Every wait of the job, not yet judged by how long it has lasted; one of unknown age began with the last event."""
    told = _waitings(picture)
    return tuple(w if w.since is not None else replace(w, since=picture.record.at) for w in told)


def _waitings(picture: Picture) -> tuple[Waiting, ...]:
    first = [*strange(picture), *regressed(picture), *_runaways(picture)]
    if picture.state in SETTLED:
        return tuple(first)
    lost = stuck(picture)
    first += [*_outside(picture), *foreigners(picture), *lost, *absent(picture)]
    if picture.record.over:
        return _with(first, [*proofs(picture), *unmatched(picture), *closing(picture)])
    run = running_run(picture.record)
    if run is not None:
        return (*first, *ending(picture, run))
    first += left_alone(picture)
    next_run = [] if lost else [*recovering(picture), *launching(picture)]
    return _with(first, [*holds(picture), *proofs(picture), *next_run])


def _with(first: list[Waiting], more: list[Waiting]) -> tuple[Waiting, ...]:
    """All of them, without those that the next pass ends where there are others."""
    waits = [*first, *more]
    lasting = [w for w in waits if not w.momentary]
    return tuple(lasting or waits)


def _outside(picture: Picture) -> list[Waiting]:
    """Nobody who could look: no live replica, or a scheduler that does not answer."""
    around, waits = picture.around, []
    if around.attended is False:
        waits.append(
            Waiting(
                what="a live supervisor",
                because=("no live replica serves this job: nothing is decided until one starts",),
                ends=("a replica starts",),
            )
        )
    if around.unreachable_since is not None:
        waits.append(
            Waiting(
                what=f"{picture.cluster or 'the scheduler'} to answer",
                since=around.unreachable_since,
                because=("the scheduler is silent: all this is as last seen, and nothing is decided from silence",),
                ends=("it answers",),
                law="L9",
            )
        )
    return waits


def _runaways(picture: Picture) -> list[Waiting]:
    """Runs that nobody authorized (L1)."""
    return [
        Waiting(
            what=f"{picture.called(o.ref)} to be stopped: it runs, and nobody authorized that",
            nature=Nature.NEEDS_A_PERSON,
            since=o.since,
            because=("its gate was lifted by other hands than dispatch's, or it came back after its end",),
            ends=("its stop takes effect", "someone stops it at the scheduler"),
            law="L1",
        )
        for o in picture.record.objects.values()
        if unauthorized(o)
    ]
