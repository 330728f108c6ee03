"""Waits of a job whose outcome stands: what must end, and what must be over, before it is settled (L2, L3)."""

from __future__ import annotations

from projections.record import ObjectRecord
from projections.status import words
from projections.status.picture import Picture, alive
from projections.status.view import Nature
from projections.status.waits.launch import PASS, landing
from projections.status.waits.waiting import PATIENCE, Waiting
from streams.messages.values import Phase, Verb


def closing(picture: Picture) -> list[Waiting]:
    """What settlement waits for; proofs, foreign objects and lost Starts are waits of their own."""
    return _unfinished_parts(picture) or [_settlement(picture)]


def _unfinished_parts(picture: Picture) -> list[Waiting]:
    stops = [*_no_stop_taken(picture), *_second_stop(picture)]
    return [*_objects(picture), *_starts(picture), *_calls(picture), *stops]


def blocked_by(picture: Picture) -> tuple[str, ...]:
    """What keeps a cancel from being complete, a phrase each."""
    cancel = picture.record.cancel
    if cancel is None or cancel.complete:
        return ()
    waits = _unfinished_parts(picture)
    return tuple(w.what for w in waits) or ("the second stop, and a Find begun after it",)


def _objects(picture: Picture) -> list[Waiting]:
    return [_object(picture, o) for o in picture.record.objects.values() if _unfinished(picture, o)]


def _unfinished(picture: Picture, held: ObjectRecord) -> bool:
    if held.ignored or held.missing or (held.foreign and picture.record.cancel is None):
        return False
    return not held.accounted or _runs_again(picture, held)


def _runs_again(picture: Picture, held: ObjectRecord) -> bool:
    """Ended, but able to run again by itself until it is stopped (Kubernetes)."""
    able = picture.capabilities
    again = able is not None and able.ended_runs_again and held.phase is Phase.ENDED
    return again and not held.end_final and not held.disposed_gone


def _object(picture: Picture, held: ObjectRecord) -> Waiting:
    record, name = picture.record, picture.called(held.ref)
    began = record.cancel.at if record.cancel else record.outcome.at if record.outcome else held.since
    stops = record.calls_on(held.ref, Verb.STOP)
    stop = max(stops, key=lambda c: c.call, default=None)
    facts = [f"it is {held.phase.value}" if alive(held) else "it has ended, and can run again by itself"]
    if stop is not None:
        facts.append(f"stop sent {words.stamp(stop.at)}: {stop.reply.value if stop.reply else 'no answer yet'}")
    return Waiting(
        what=f"{name} to end" if alive(held) else f"{name} to be stopped for good",
        since=began,
        because=tuple(facts),
        ends=("its stop takes effect",),
        law="L3",
        patience=PATIENCE,
    )


def _starts(picture: Picture) -> list[Waiting]:
    return [
        Waiting(
            what=f"the Start {a.submission}/{a.attempt} to be over",
            since=a.at,
            because=(a.detail or "no answer: it may exist",),
            ends=("a Find shows its object", f"the scheduler's clock passes {words.stamp(a.over_at)}"),
            law="L9",
        )
        for a in picture.landing()
    ]


def _calls(picture: Picture) -> list[Waiting]:
    return [landing(picture, c) for c in picture.record.calls.values() if not c.closed and not picture.over(c.over_at)]


def _no_stop_taken(picture: Picture) -> list[Waiting]:
    """A cancel of a job whose cluster is only looked at."""
    cancel, able = picture.record.cancel, picture.capabilities
    if cancel is None or cancel.complete or able is None or not able.read_only or able.takes_stops:
        return []
    return [
        Waiting(
            what="the cluster to take stops again",
            nature=Nature.NEEDS_A_PERSON,
            since=cancel.at,
            because=("it is read-only here: it is looked at, and no stop is sent",),
            ends=("whoever serves it lets it be called", "someone answers for it with dispatch agent gone"),
            law="L2",
        )
    ]


def _second_stop(picture: Picture) -> list[Waiting]:
    """The stop by name that follows once nothing can land any more, and the Find after it."""
    cancel = picture.record.cancel
    if cancel is None or cancel.complete or not cancel.stopped:
        return []
    sent = cancel.second is not None
    return [
        Waiting(
            what="a Find begun after the second stop" if sent else "the second stop",
            since=cancel.stopped_at,
            because=("everything seen has ended; what could still land is looked for once more",),
            ends=("the next Find",) if sent else ("every call that could still land is over",),
            law="L2",
            patience=PATIENCE,
        )
    ]


def _settlement(picture: Picture) -> Waiting:
    return Waiting(
        what="settlement",
        since=picture.record.at,
        because=("nothing is left to wait for",),
        ends=(PASS,),
        law="L3",
        patience=PATIENCE,
        momentary=True,
    )
