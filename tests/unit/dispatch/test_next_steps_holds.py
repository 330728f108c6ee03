"""Holds on the canonical object: placed and released by calls that never undo each other."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from streams.messages.calls import Capabilities
from streams.messages.events import HoldAsked, RequeueAuthorized
from streams.messages.reasons import Reason
from streams.messages.values import HoldKind, HoldSeen, ObjectRef, Phase, ReplyOutcome, Verb
from tests.unit.dispatch.scene import KUEUE, LOCAL, PLAIN, SLURM, calls, only, opens, record_of, told
from tests.unit.projections.story import CALL_BOUND_S, Story, launched

HOLD = ("c-2h4w",)
OVER = CALL_BOUND_S + 31


def queued(run: int = 0) -> tuple[Story, ObjectRef]:
    """Opened, and waiting for nodes."""
    story, ref = launched()
    return story.opened(ref, run).later(5).seen((ref, Phase.QUEUED, run)).later(5), ref


def placed(story: Story, ref: ObjectRef, instance: str = "c-2h4w") -> Story:
    """A hold asked, sent, done, and seen on the object."""
    story.hold_asked(instance).call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=(instance,)).replied()
    return story.later(5).seen(story.look(ref, Phase.GATED, hold=HoldSeen.USER)).later(5)


# placing


def test_a_hold_is_placed_on_an_object_that_waits_in_the_queue() -> None:
    story, ref = queued()
    story.hold_asked()
    (call,) = calls(story, Verb.HOLD)
    assert (call.object, call.instances, call.run) == (ref, HOLD, None)
    assert told(story) == [("hold", Reason.HOLD_IN_FORCE)]


@pytest.mark.parametrize("able", [SLURM, LOCAL], ids=lambda able: able.kind)
def test_a_hold_on_a_gated_object_sends_no_call(able: Capabilities) -> None:
    story, ref = launched()
    assert told(story.hold_asked(), able) == []
    assert told(story.hold_lifted().seen(), able)[0] == ("open", Reason.GATE_FREE)
    assert opens(story, able) == [(ref, 0)]


def test_no_hold_is_sent_to_a_cluster_that_has_none() -> None:
    story, _ = queued()
    assert told(story.hold_asked(), replace(SLURM, holds=False)) == []


@pytest.mark.parametrize("verb", [Verb.OPEN, Verb.RELEASE, Verb.HOLD])
def test_a_hold_waits_until_every_earlier_call_that_changes_it_is_over(verb: Verb) -> None:
    """A late release would lift it, a late Open too where gate and hold are one bit."""
    story, ref = queued()
    story.call(verb, ref, run=0 if verb is Verb.OPEN else None, instances=() if verb is Verb.OPEN else ("c-old",))
    story.later(1).hold_asked()
    assert told(story) == []
    assert told(story.later(OVER)) == [("hold", Reason.HOLD_IN_FORCE)]


def test_a_hold_that_was_placed_is_not_sent_again() -> None:
    story, ref = queued()
    assert told(placed(story, ref)) == []
    assert record_of(story).holds["c-2h4w"].placed


def test_a_hold_without_an_answer_is_sent_again_under_a_new_number_once_it_is_over() -> None:
    story, ref = queued()
    story.hold_asked().call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=HOLD).later(9).replied(ReplyOutcome.UNKNOWN)
    assert told(story) == []
    (call,) = calls(story.later(OVER), Verb.HOLD)
    assert call.call == 4


def test_a_second_instance_is_placed_only_after_the_first_ones_calls() -> None:
    story, ref = queued()
    story.hold_asked().call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=HOLD).later(1).hold_asked("c-other")
    assert told(story) == []
    (call,) = calls(story.replied(), Verb.HOLD)
    assert call.instances == ("c-2h4w", "c-other")


def test_a_refused_hold_stays_in_force_and_is_asked_again_later() -> None:
    """R16: refusal and retry are told apart, and the hold stays in force."""
    story, ref = queued()
    story.hold_asked().call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=HOLD).replied(ReplyOutcome.REFUSED)
    assert told(story) == []
    assert record_of(story).wanted == "held"
    assert told(story.later(30)) == [("hold", Reason.HOLD_IN_FORCE)]


# what a hold says of itself


def test_a_hold_is_reported_placed_only_by_a_find_begun_after_every_call_that_could_lift_it() -> None:
    story, ref = queued()
    story.hold_asked().call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=HOLD)
    before = story.revision
    story.replied().later(5)
    story.seen(story.look(ref, Phase.GATED, hold=HoldSeen.USER), read_revision=before)
    assert not record_of(story).holds["c-2h4w"].placed, "that Find was read before the reply"
    story.seen()
    assert record_of(story).holds["c-2h4w"].placed


def test_a_hold_is_reported_released_only_by_a_find_begun_after_its_release_was_over() -> None:
    story, ref = queued()
    placed(story, ref).hold_lifted().later(1).seen()
    assert not record_of(story).holds["c-2h4w"].released, "its bit is on"
    story.call(Verb.RELEASE, ref, Reason.HOLD_LIFTED, instances=HOLD)
    before = story.revision
    story.replied().seen((ref, Phase.QUEUED), read_revision=before)
    assert not record_of(story).holds["c-2h4w"].released, "that Find was read before the reply"
    story.seen()
    assert record_of(story).holds["c-2h4w"].released


# releasing


def test_a_lifted_hold_is_released_by_a_call_of_its_own() -> None:
    story, ref = queued()
    placed(story, ref).hold_lifted()
    (call,) = calls(story, Verb.RELEASE)
    assert (call.object, call.instances, call.run) == (ref, HOLD, None)


def test_the_last_of_several_holds_to_be_lifted_is_released_though_the_call_that_placed_it_named_another() -> None:
    """One hold on the object serves every instance in force; the first one's call alone was ever sent."""
    story, ref = queued()
    placed(story, ref)
    story.hold_asked("later").hold_lifted("c-2h4w").later(5).seen(story.look(ref, Phase.QUEUED, hold=HoldSeen.USER))
    assert told(story, LOCAL) == []
    story.hold_lifted("later").later(1).seen(story.look(ref, Phase.QUEUED, hold=HoldSeen.USER)).later(1)
    (call,) = calls(story, Verb.RELEASE, LOCAL)
    assert call.instances == ("later",)


def test_no_release_is_sent_while_another_instance_is_in_force() -> None:
    story, ref = queued()
    placed(story, ref).hold_asked("c-other").hold_lifted()
    assert calls(story, Verb.RELEASE) == []
    assert record_of(story.seen()).holds["c-2h4w"].released, "what stays on the object is the other's"


@pytest.mark.parametrize("verb", [Verb.HOLD, Verb.RELEASE, Verb.OPEN])
def test_no_release_is_sent_while_another_call_may_change_the_hold(verb: Verb) -> None:
    story, ref = queued()
    placed(story, ref).hold_lifted().call(verb, ref, run=0 if verb is Verb.OPEN else None, instances=HOLD)
    assert calls(story.later(1), Verb.RELEASE) == []
    assert len(calls(story.later(OVER), Verb.RELEASE)) == 1


def test_no_release_is_sent_while_a_requeue_may_land() -> None:
    """Where gate and hold are one bit it would open the gate that the requeue lands in."""
    story, ref = queued()
    placed(story, ref).hold_lifted()
    assert len(calls(story, Verb.RELEASE)) == 1
    story.call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0)
    assert calls(story.later(1), Verb.RELEASE) == []


def test_at_its_gate_a_release_is_only_recorded_where_gate_and_hold_are_one_bit() -> None:
    """A release would open the gate without an Open of its own (L1)."""
    story, ref = queued()
    placed(story, ref).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0).replied()
    story.later(9).seen(story.look(ref, Phase.GATED, 1, hold=HoldSeen.USER)).hold_lifted()
    assert calls(story, Verb.RELEASE, SLURM) == []
    assert len(calls(story, Verb.RELEASE, LOCAL)) == 1, "where the hold is beside the gate it has to go"


def test_a_hold_on_an_object_back_at_its_gate_unopened_goes_with_its_open_where_both_are_one_bit() -> None:
    """Its gate was lifted by hand, so a hold was sent; then it came back to its gate, under our hold."""
    story, ref = launched()
    story.later(5).seen((ref, Phase.QUEUED, 0)).hold_asked()
    story.call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=HOLD).later(1).hold_lifted()
    story.seen(story.look(ref, Phase.GATED, 1, hold=HoldSeen.USER)).later(1)
    assert opens(story) == []
    story.replied().later(5).seen(story.look(ref, Phase.GATED, 1, hold=HoldSeen.USER)).later(5)
    assert calls(story, Verb.RELEASE) == []
    assert opens(story) == [(ref, 1)]


def test_an_open_that_was_refused_leaves_the_object_at_its_gate() -> None:
    """A hold that comes and goes then sends nothing: its release would open the gate without the gate's conditions."""
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).replied(ReplyOutcome.REFUSED, retry=True)
    assert told(story.hold_asked()) == []
    assert calls(story.hold_lifted().seen(), Verb.RELEASE) == []


def test_a_hold_that_was_never_sent_is_not_released() -> None:
    story, _ = queued()
    story.hold_asked().hold_lifted()
    assert calls(story, Verb.RELEASE) == []


# where a hold ends a run, and a release begins one


def on_kubernetes(phase: Phase) -> tuple[Story, ObjectRef]:
    story = Story().submitted().later(1).authorized().attempt()
    ref = story.ref("bert-s1a1")
    story.replied(object=ref).later(1).seen((ref, Phase.GATED, 1)).canonical(ref).opened(ref, 1)
    return story.later(9).seen((ref, phase, 1)).later(5), ref


@pytest.mark.parametrize("able", [PLAIN, KUEUE], ids=lambda able: able.kind)
def test_a_hold_without_now_lets_the_run_in_progress_go_on(able: Capabilities) -> None:
    """There a hold is a suspension, which would end it."""
    story, ref = on_kubernetes(Phase.RUNNING)
    assert told(story.hold_asked(), able) == []
    waiting, _ = on_kubernetes(Phase.QUEUED)
    (call,) = calls(waiting.hold_asked(), Verb.HOLD, able)
    assert (call.object, call.run) == (ref, 1)


def now(story: Story) -> Story:
    event = HoldAsked(instance="c-2h4w", rule="person", kind=HoldKind.PERSON, now=True)
    return story.append(event, Reason.PERSON_HOLD, command="c-2h4w", actor="ana")


@pytest.mark.parametrize("able", [PLAIN, KUEUE], ids=lambda able: able.kind)
def test_a_hold_now_on_kubernetes_ends_the_run_by_its_own_suspension(able: Capabilities) -> None:
    story, ref = on_kubernetes(Phase.RUNNING)
    (call,) = calls(now(story), Verb.HOLD, able)
    assert (call.object, call.run, call.instances) == (ref, 1, HOLD)
    assert told(story, able) == [("hold", Reason.HOLD_IN_FORCE)]


def test_the_run_that_a_hold_took_off_is_followed_by_the_next_without_a_rules_budget() -> None:
    story, ref = on_kubernetes(Phase.RUNNING)
    now(story).call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=HOLD, run=1).replied()
    story.later(9).seen((ref, Phase.GATED, 2)).ceased(ref, 1)
    assert told(story, PLAIN) == []
    (release,) = calls(story.hold_lifted(), Verb.RELEASE, PLAIN)
    assert (release.object, release.run, release.instances) == (ref, 2, HOLD)


def test_a_release_that_begins_a_run_has_to_pass_the_gate() -> None:
    story, ref = on_kubernetes(Phase.RUNNING)
    now(story).call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=HOLD, run=1).replied()
    story.later(9).seen((ref, Phase.GATED, 2)).hold_lifted()
    assert calls(story, Verb.RELEASE, PLAIN) == [], "run 1 is not proven gone"
    story.seen((story.foreign(), Phase.QUEUED)).ceased(ref, 1)
    assert calls(story, Verb.RELEASE, PLAIN) == [], "another object of the job is alive"


# hold --now where a requeue ends the run


def test_a_hold_now_authorizes_a_requeue_of_the_run_in_progress_once() -> None:
    story, ref = launched()
    now(story.opened(ref).later(9).running(ref))
    event = only(RequeueAuthorized, story)
    assert (event.object, event.run, event.rule, event.budget_key) == (ref, 0, "person", "person/hold/c-2h4w")
    assert told(story) == [("RequeueAuthorized", Reason.HOLD_NOW), ("hold", Reason.HOLD_IN_FORCE)]
    story.append(event, Reason.HOLD_NOW)
    assert told(story)[-1] == ("requeue", Reason.REQUEUE_DUE)
    assert "RequeueAuthorized" not in [name for name, _ in told(story)]


def test_a_hold_now_ends_one_run_and_no_later_one() -> None:
    """L7: its key pays once. Run 1 was let loose by hand, and is stopped."""
    story, ref = launched()
    now(story.opened(ref).later(9).running(ref))
    story.append(only(RequeueAuthorized, story), Reason.HOLD_NOW).call(Verb.REQUEUE, ref, run=0).replied()
    story.later(9).seen((ref, Phase.GATED, 1)).later(9).running(ref, 1)
    assert "RequeueAuthorized" not in [name for name, _ in told(story)]


def test_a_hold_without_now_requeues_nothing() -> None:
    story, ref = launched()
    story.opened(ref).later(9).running(ref).hold_asked()
    assert told(story) == [("hold", Reason.HOLD_IN_FORCE)]


def test_a_hold_now_that_is_lifted_before_its_requeue_was_sent_leaves_the_run_alone() -> None:
    story, ref = launched()
    now(story.call(Verb.OPEN, ref, run=0).later(9).running(ref))
    story.append(only(RequeueAuthorized, story), Reason.HOLD_NOW)
    assert calls(story, Verb.REQUEUE) == [], "the Open may still land"
    story.hold_lifted().later(OVER)
    assert told(story) == []
    assert record_of(story).pending_requeue() is None


def test_nothing_is_held_or_released_on_an_object_that_is_over_or_absent() -> None:
    story, ref = queued()
    story.hold_asked()
    assert told(story, hides=(ref,)) == []
    assert calls(story.later(1).seen((ref, Phase.ENDING)), Verb.HOLD) == []
