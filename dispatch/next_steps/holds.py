"""Holds on the canonical object: placed and released by calls that never undo each other."""

from __future__ import annotations

from dispatch.next_steps import calls, gate
from dispatch.next_steps.calls import Aim
from dispatch.situation import Situation, Step
from projections.intents import may_carry_our_hold
from projections.record import ObjectRecord
from streams.messages.events import RequeueAuthorized
from streams.messages.plan import PERSON, hold_key
from streams.messages.reasons import Reason
from streams.messages.values import Phase, Verb

CHANGES_HOLD = (Verb.OPEN, Verb.ADMIT, Verb.HOLD, Verb.RELEASE)


def hold_calls(situation: Situation) -> tuple[Step, ...]:
    """The hold or release that the record asks for and the object may lack."""
    held = situation.canonical
    if held is None or not situation.capabilities.holds or situation.capabilities.read_only:
        return ()
    if situation.phase(held.ref) in (None, Phase.ENDED, Phase.ENDING) or held.off_limits:
        return ()
    if situation.record.in_force:
        return _place(situation, held)
    return _release(situation, held)


def _at_gate(situation: Situation, held: ObjectRecord) -> bool:
    """Before its first Open, or requeued: the gate itself keeps it from running, no call is needed."""
    return situation.phase(held.ref) is Phase.GATED and not situation.record.opened(held.ref)


def _place(situation: Situation, held: ObjectRecord) -> tuple[Step, ...]:
    """A hold, once every call of an earlier instance, and every Open, is over."""
    wanted = tuple(h.instance for h in situation.record.in_force)
    if _at_gate(situation, held) or all(h.placed for h in situation.record.in_force):
        return ()
    if not calls.over(situation, held.ref, *CHANGES_HOLD):
        return ()
    able = situation.capabilities
    on = situation.phase(held.ref) in (Phase.RUNNING, Phase.UNCLEAR)
    if on and able.hold_ends_run and not any(h.now for h in situation.record.in_force):
        # Without `now` a run in progress goes on; the gate stays shut after it all the same.
        return ()
    run = situation.shown[held.ref].run if able.hold_ends_run else None
    earlier = calls.last(situation, held.ref, Verb.HOLD)
    if earlier is not None and set(wanted) <= set(earlier.instances) and not calls.may_repeat(situation, earlier):
        return ()
    return (calls.call(situation, Aim(Verb.HOLD, held.ref, run, wanted), Reason.HOLD_IN_FORCE),)


def _release(situation: Situation, held: ObjectRecord) -> tuple[Step, ...]:
    """A release, once no instance is in force and no call of any instance is on its way."""
    lifted = [h for h in situation.record.holds.values() if h.lifted and not h.released]
    if not lifted or not may_carry_our_hold(situation.record, held.ref):
        return ()
    if not calls.over(situation, held.ref, *CHANGES_HOLD):
        return ()
    if gate.is_the_hold(situation, held):
        return ()
    run = None
    if situation.capabilities.release_begins_run:
        if not all(c.holds for c in gate.conditions(situation, held) if c.name != "lifted holds are released"):
            return ()
        run = gate.next_run(situation, held)
    earlier = calls.last(situation, held.ref, Verb.RELEASE)
    instances = tuple(h.instance for h in lifted)
    if earlier is not None and set(instances) <= set(earlier.instances) and not calls.may_repeat(situation, earlier):
        return ()
    return (calls.call(situation, Aim(Verb.RELEASE, held.ref, run, instances), Reason.HOLD_LIFTED),)


def hold_now(situation: Situation) -> tuple[Step, ...]:
    """`hold --now`: end the run in progress by a requeue into the gate, authorized with the hold."""
    held = situation.canonical
    asked = next((h for h in situation.record.in_force if h.now), None)
    if held is None or asked is None or situation.phase(held.ref) is not Phase.RUNNING:
        return ()
    if situation.capabilities.hold_ends_run:
        return ()
    if Phase.RUNNING not in situation.capabilities.requeue_of or situation.record.pending_requeue() is not None:
        return ()
    key = hold_key(asked.instance)
    if key in situation.record.keys or held.off_limits or held.end_final:
        return ()
    event = RequeueAuthorized(
        object=held.ref,
        run=situation.shown[held.ref].run,
        rule=PERSON,
        budget_key=key,
        not_before_at=situation.now,
    )
    return (Step(event=event, reason=Reason.HOLD_NOW),)
