"""The gate: the one place from which a run may begin. Each condition is a line that `dispatch why` can print."""

from __future__ import annotations

from typing import NamedTuple

from dispatch.next_steps import calls, ends
from dispatch.next_steps.calls import Aim
from dispatch.situation import Situation, Step
from projections.instants import stamp
from projections.record import ObjectRecord
from projections.sightings import waiting_nodes
from streams.messages.reasons import Reason
from streams.messages.values import Phase, Verb


class Condition(NamedTuple):
    """One condition of the gate: what it asks, whether it holds, what it waits for."""

    name: str
    holds: bool
    waits_for: tuple[str, ...] = ()


def open_gate(situation: Situation) -> tuple[Step, ...]:
    """The intent to open, if every condition holds. Its append is the re-read before Open (L2, L5)."""
    held = situation.canonical
    if held is None or situation.phase(held.ref) is not Phase.GATED or not _may_open(situation, held):
        return ()
    if not all(c.holds for c in conditions(situation, held)):
        return ()
    run = next_run(situation, held)
    return (calls.call(situation, Aim(Verb.OPEN, held.ref, run), Reason.GATE_FREE),)


def next_run(situation: Situation, held: ObjectRecord) -> int:
    """The number of the run that an Open begins: the one that a gated object shows.

    On Kubernetes never one that was committed before: an undecided admission is answered by a new A.
    """
    seen = situation.shown[held.ref]
    if situation.capabilities.first_run == 0:
        return seen.run
    return max([seen.run, *(r.run + 1 for r in held.runs if r.authorized or r.ended)])


def _may_open(situation: Situation, held: ObjectRecord) -> bool:
    """No Open on its way, and an earlier one without effect is not repeated at once."""
    if situation.capabilities.read_only or held.off_limits:
        return False
    earlier = calls.last(situation, held.ref, Verb.OPEN, Verb.ADMIT)
    if earlier is None or _began_earlier(situation, held, earlier.run):
        return calls.over(situation, held.ref, Verb.OPEN, Verb.ADMIT)
    return calls.may_repeat(situation, earlier)


def _began_earlier(situation: Situation, held: ObjectRecord, run: int | None) -> bool:
    return run is not None and situation.capabilities.first_run == 0 and situation.shown[held.ref].run > run


def conditions(situation: Situation, held: ObjectRecord) -> tuple[Condition, ...]:
    """What must hold before the canonical object's gate opens."""
    return (
        _wanted(situation),
        _duplicates_retired(situation, held),
        _holds_released(situation, held),
        _no_strange_hold(situation, held),
        _requeues_over(situation),
        _others_ended(situation, held),
        _others_gone(situation, held),
        _earlier_runs_gone(situation, held),
        _answered(situation, held),
    )


def _condition(name: str, waits_for: list[str]) -> Condition:
    return Condition(name, not waits_for, tuple(waits_for))


def _wanted(situation: Situation) -> Condition:
    """Held or over: the gate stays shut while any instance is in force, on every kind of cluster."""
    record = situation.record
    waits = ["the job has an outcome"] if record.over else []
    waits += [f"hold {h.instance} is in force" for h in record.in_force]
    return _condition("the job is meant to run", waits)


def _duplicates_retired(situation: Situation, held: ObjectRecord) -> Condition:
    waits = [
        f"{o.ref.id} is not retired"
        for o in situation.record.objects.values()
        if o.submission == held.submission and o.ref != held.ref and not o.retired and not o.ignored
    ]
    return _condition("duplicates are retired", waits)


def _holds_released(situation: Situation, held: ObjectRecord) -> Condition:
    """A lifted hold whose bit may still be on the object is released first.

    At its gate, where gate and hold are one bit, it is the Open that takes it off: once no hold is on its way.
    """
    if is_the_hold(situation, held) and calls.over(situation, held.ref, Verb.HOLD, Verb.RELEASE):
        return _condition("lifted holds are released", [])
    waits = [
        f"hold {h.instance} is lifted and not yet released on {held.ref.id}"
        for h in situation.record.holds.values()
        if h.lifted and not h.released
    ]
    return _condition("lifted holds are released", waits)


def is_the_hold(situation: Situation, held: ObjectRecord) -> bool:
    """Whether the gate that it has not left is the same bit as a hold: what takes one off opens the other."""
    return situation.capabilities.gate_is_hold and not situation.record.opened(held.ref)


def _no_strange_hold(situation: Situation, held: ObjectRecord) -> Condition:
    """A hold that is not ours to lift: an administrator's, a failed launch's, the scheduler's own (R20)."""
    seen = situation.shown.get(held.ref)
    strange = seen is not None and seen.hold in ends.STRANGE_HOLDS
    waits = [f"{held.ref.id} carries another's hold: {seen.hold.value}"] if seen is not None and strange else []
    return _condition("no hold but ours is on it", waits)


def _requeues_over(situation: Situation) -> Condition:
    waits = [
        f"a requeue of {c.object.id if c.object else '?'} may land until {stamp(c.over_at)}"
        for c in situation.record.calls.values()
        if c.verb is Verb.REQUEUE and not c.over(situation.as_of)
    ]
    return _condition("no requeue can land any more", waits)


def _others(situation: Situation, held: ObjectRecord) -> list[ObjectRecord]:
    return [o for o in situation.record.objects.values() if o.ref != held.ref and not o.ignored]


def _others_ended(situation: Situation, held: ObjectRecord) -> Condition:
    waits = [f"{o.ref.id} is not seen ended" for o in _others(situation, held) if not situation.ended(o)]
    waits += [f"{o.ref.id} ended and can run again" for o in _others(situation, held) if _runs_again(situation, o)]
    waits += [
        f"{ref.id} is shown and not recorded"
        for ref, s in situation.shown.items()
        if ref not in situation.record.objects and s.phase is not Phase.ENDED
    ]
    return _condition("every other object of the job has ended", waits)


def _runs_again(situation: Situation, other: ObjectRecord) -> bool:
    """Shown ended, and until it is stopped and its controllers have seen that, it can run again by itself."""
    seen = situation.shown.get(other.ref)
    return (
        situation.capabilities.ended_runs_again
        and seen is not None
        and not seen.end_final
        and situation.ended(other)
        and not other.disposed_gone
    )


def _others_gone(situation: Situation, held: ObjectRecord) -> Condition:
    return _condition("their processes are gone", _unproven(_others(situation, held)))


def _earlier_runs_gone(situation: Situation, held: ObjectRecord) -> Condition:
    # A run that this Find shows at its gate, or a later one, has not begun, whatever was opened.
    seen = situation.shown.get(held.ref)
    run = seen.run if seen is not None else held.run
    earlier = [r for r in held.unproven if r.run < run or r.ended]
    waits = [_alive(held, r.run, waiting_nodes(r)) for r in earlier]
    return _condition("every earlier run of it is gone", waits)


def _answered(situation: Situation, held: ObjectRecord) -> Condition:
    """A run that ended, ended: the next one in place needs a rule's word or a person's, and its backoff."""
    back = ends.came_back(situation, held)
    waits = [] if back is None else [f"{held.submission}.{back.run} came back to its gate, and no rule has answered"]
    last = situation.record.requeues[-1] if situation.record.requeues else None
    if last is not None and last.object == held.ref and not last.dropped and situation.now < last.not_before_at:
        waits.append(f"the retry by {last.rule} waits until {stamp(last.not_before_at)}")
    return _condition("its next run is authorized", waits)


def _unproven(objects: list[ObjectRecord]) -> list[str]:
    return [_alive(o, r.run, waiting_nodes(r)) for o in objects for r in o.unproven]


def _alive(held: ObjectRecord, run: int, nodes: tuple[str, ...]) -> str:
    number = f"{held.submission}.{run}" if held.submission is not None else f"{held.ref.id} run {run}"
    return f"{number} may be alive on {', '.join(nodes) or 'its nodes'}"
