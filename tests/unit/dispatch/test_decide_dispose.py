"""Dispose, attest, controls: a person's word on what dispatch may not decide by itself."""

from __future__ import annotations

from typing import Any

import pytest

from dispatch.decide import Already, Decided, Facts, Refused, decide
from projections.controls import Control, Controls
from projections.recorded import last_recorded_find
from streams.messages import events
from streams.messages.commands import AttestNodeOff, BrakeOrder, Command, Dispose, Retries, SetControls
from streams.messages.events import ControlsSet, Quarantined, UnknownEvent
from streams.messages.reasons import Reason, RefusalCode
from streams.messages.values import (
    AttemptRef,
    CessationAnswer,
    CessationBasis,
    Disposition,
    Floor,
    Found,
    MessageRef,
    NodeAttested,
    NodeState,
    ObjectRef,
    Phase,
    ReplyOutcome,
    Target,
)
from tests.unit.dispatch.scene import record_of
from tests.unit.projections.story import BEGIN, CRASHED, NODES, Story, launched, run_once

FIELDS: dict[str, Any] = {"command": "c-new", "tenant": "nlp", "job": "llama-7b", "at": BEGIN}
ADOPT, IGNORE, STOP, GONE = Disposition.ADOPT, Disposition.IGNORE, Disposition.STOP, Disposition.GONE


def answer(story: Story, command: Command, found: Found | None = None) -> Decided | Refused | Already:
    record = record_of(story)
    return decide(record, command, Facts(now=story.at, found=found or last_recorded_find(record), actor="ana"))


def dispose(story: Story, target: Target, how: Disposition, found: Found | None = None) -> Decided | Refused | Already:
    return answer(story, Dispose(**FIELDS, target=target, disposition=how), found)


def code(answered: Decided | Refused | Already) -> RefusalCode:
    assert isinstance(answered, Refused), answered
    assert answered.sentence
    return answered.code


def event(answered: Decided | Refused | Already) -> Any:
    assert isinstance(answered, Decided), answered
    return answered.event


def with_foreign() -> tuple[Story, ObjectRef]:
    story = Story().submitted().authorized().attempt().replied(ReplyOutcome.UNKNOWN)
    other = story.foreign()
    return story.seen((other, Phase.QUEUED)), other


def missing() -> tuple[Story, ObjectRef]:
    story, ref = launched()
    return story.opened(ref).later(9).running(ref).later(9).seen(missing=(ref,)), ref


# objects


@pytest.mark.parametrize("how", [IGNORE, STOP])
def test_a_foreign_object_is_disposed_of_as_the_person_says(how: Disposition) -> None:
    story, other = with_foreign()
    decided = dispose(story, other, how)
    assert isinstance(decided, Decided)
    assert decided.reason is Reason.PERSON_DISPOSED
    assert decided.event == events.TargetDisposed(target=other, disposition=how, rule="person", as_of=story.at)


def test_a_foreign_object_is_adopted_as_the_object_of_the_first_unmatched_attempt() -> None:
    story, other = with_foreign()
    disposed = event(dispose(story, other, ADOPT))
    assert (disposed.target, disposed.submission, disposed.attempt) == (other, 1, 1)


def test_nothing_is_adopted_where_no_attempt_is_unmatched() -> None:
    story, _ = launched()
    other = story.foreign()
    story.seen((other, Phase.QUEUED))
    assert code(dispose(story, other, ADOPT)) is RefusalCode.NO_ATTEMPT_TO_ADOPT


def superseded() -> Story:
    """Attempt 1/1 was never answered, 1/2 is canonical and has ended, and submission 2's first Start is unanswered."""
    story = Story().submitted().later(1).authorized().attempt()
    story.replied(ReplyOutcome.UNKNOWN).later(70).attempt(1, 2)
    ref = story.later(1).made("88213", 1, 2)
    story.canonical(ref, 1, 2).opened(ref).later(30).running(ref).later(60)
    story.ended(ref, cause=CRASHED, end_final=True).ceased(ref)
    return story.authorized(2, "crash", "crash/1.0").attempt(2, 1).replied(ReplyOutcome.UNKNOWN)


def test_what_is_adopted_answers_the_newest_submission_and_is_not_stopped_as_a_duplicate_of_an_earlier_one() -> None:
    story = superseded().later(2000)
    other = story.foreign()
    story.seen((other, Phase.QUEUED))
    disposed = event(dispose(story, other, ADOPT))
    assert (disposed.submission, disposed.attempt) == (2, 1)


def test_nothing_is_adopted_for_an_attempt_whose_submission_has_its_object() -> None:
    """It would be retired as a duplicate, and stopped: who adopts wants it to run."""
    chosen, _ = launched()
    chosen.attempt(1, 2).replied(ReplyOutcome.UNKNOWN)
    shown = Story().submitted().later(1).authorized().attempt()
    shown.later(1).made("88213")
    shown.attempt(1, 2).replied(ReplyOutcome.UNKNOWN)
    closed = superseded()
    closed.canonical(closed.later(1).made("88299", 2, 1), 2)
    for story in (chosen, shown, closed):
        other = story.foreign()
        story.seen((other, Phase.QUEUED))
        assert code(dispose(story, other, ADOPT)) is RefusalCode.NO_ATTEMPT_TO_ADOPT


def test_a_missing_object_of_our_own_is_not_adopted() -> None:
    story, ref = missing()
    story.attempt(1, 2)
    assert code(dispose(story, ref, ADOPT)) is RefusalCode.NO_ATTEMPT_TO_ADOPT


def test_our_own_object_is_not_disposed_of_while_nothing_about_it_is_in_doubt() -> None:
    story, ref = launched()
    for how in (IGNORE, STOP, GONE):
        assert code(dispose(story, ref, how)) is RefusalCode.TARGET_NOT_DISPOSABLE
    ended, ref = run_once()
    assert code(dispose(ended, ref, GONE)) is RefusalCode.TARGET_NOT_DISPOSABLE


def test_a_missing_object_can_be_called_gone() -> None:
    story, ref = missing()
    assert event(dispose(story, ref, GONE)).disposition is GONE


def test_nothing_is_called_gone_that_the_scheduler_shows_alive_or_while_it_does_not_answer() -> None:
    """R4, L9: nobody can say that it is gone."""
    story, other = with_foreign()
    assert code(dispose(story, other, GONE)) is RefusalCode.STILL_ALIVE
    command = Dispose(**FIELDS, target=other, disposition=GONE)
    assert code(decide(record_of(story), command, Facts(now=story.at))) is RefusalCode.STILL_ALIVE
    assert event(dispose(story, other, GONE, Found(as_of=story.at))).disposition is GONE


def test_an_ended_object_whose_processes_are_not_proven_gone_can_be_called_gone() -> None:
    """R6: an operator's way out."""
    story, ref = launched()
    story.opened(ref).later(9).running(ref).later(9).ended(ref, cause=CRASHED, nodes=NODES)
    assert event(dispose(story, ref, GONE)).target == ref


def test_an_object_of_which_nothing_is_recorded_is_not_known() -> None:
    story, _ = launched()
    assert code(dispose(story, story.foreign(), IGNORE)) is RefusalCode.TARGET_UNKNOWN
    assert code(dispose(Story(), story.foreign(), IGNORE)) is RefusalCode.NO_SUCH_JOB


def test_nothing_of_a_settled_job_is_disposed_of() -> None:
    story, _ = run_once()
    other = story.foreign()
    story.outcome().settled().seen((other, Phase.QUEUED))
    assert code(dispose(story, other, STOP)) is RefusalCode.TARGET_NOT_DISPOSABLE


def test_a_regressed_object_is_disposed_of_like_a_foreign_one() -> None:
    """L14."""
    story, ref = launched()
    lost = Story(revision=48_100).submitted().authorized().attempt().later(7).attempt(1, 2)
    other = lost.ref("88999", 1, 2)
    story.seen(lost.look(other, Phase.RUNNING))
    assert event(dispose(story, other, STOP)).target == other
    assert ref != other


# attempts


def test_an_unmatched_attempt_can_be_given_up_as_gone_and_not_otherwise() -> None:
    """R3: a stuck job has a way out."""
    story = Story().submitted().authorized().attempt().replied(ReplyOutcome.UNKNOWN)
    target = AttemptRef(submission=1, attempt=1)
    assert event(dispose(story, target, GONE)).target == target
    for how in (ADOPT, IGNORE, STOP):
        assert code(dispose(story, target, how)) is RefusalCode.TARGET_NOT_DISPOSABLE


def test_an_attempt_that_was_answered_refused_or_given_up_is_in_no_doubt() -> None:
    target = AttemptRef(submission=1, attempt=1)
    made, _ = launched()
    assert code(dispose(made, target, GONE)) is RefusalCode.TARGET_NOT_DISPOSABLE
    refused = Story().submitted().authorized().attempt().replied(ReplyOutcome.REFUSED)
    assert code(dispose(refused, target, GONE)) is RefusalCode.TARGET_NOT_DISPOSABLE
    given_up = Story().submitted().authorized().attempt().disposed(target, GONE)
    assert code(dispose(given_up, target, GONE)) is RefusalCode.TARGET_NOT_DISPOSABLE
    assert code(dispose(made, AttemptRef(submission=2, attempt=1), GONE)) is RefusalCode.TARGET_UNKNOWN


# messages


def test_a_quarantined_message_can_be_ignored_and_not_otherwise() -> None:
    """L15."""
    story = Story().submitted().strange(Quarantined(why="not JSON"))
    target = MessageRef(revision=story.revision)
    assert event(dispose(story, target, IGNORE)).target == target
    for how in (ADOPT, STOP, GONE):
        assert code(dispose(story, target, how)) is RefusalCode.TARGET_NOT_DISPOSABLE
    assert code(dispose(story, MessageRef(revision=7), IGNORE)) is RefusalCode.TARGET_UNKNOWN


def test_a_message_of_a_type_this_release_does_not_know_waits_for_an_upgrade() -> None:
    story = Story().submitted().strange(UnknownEvent(type="JobPaused"))
    assert code(dispose(story, MessageRef(revision=story.revision), IGNORE)) is RefusalCode.TARGET_NOT_DISPOSABLE


def test_a_floor_that_the_history_lacks_is_disposed_of_as_a_message() -> None:
    """L14, R23."""
    story, _ = launched()
    lost = Found(as_of=story.at, floor=Floor(revision=52_003, nonce="0" * 26))
    assert event(dispose(story, MessageRef(revision=52_003), IGNORE, lost)).target == MessageRef(revision=52_003)
    assert code(dispose(story, MessageRef(revision=52_004), IGNORE, lost)) is RefusalCode.TARGET_UNKNOWN
    revision, nonce = next(iter(record_of(story).intents.items()))
    known = Found(as_of=story.at, floor=Floor(revision=revision, nonce=nonce))
    assert code(dispose(story, MessageRef(revision=revision), IGNORE, known)) is RefusalCode.TARGET_UNKNOWN


def test_a_message_of_a_settled_job_can_still_be_disposed_of() -> None:
    """Without it a run that nobody authorized could not be stopped."""
    story, _ = run_once()
    story.outcome().settled().strange(Quarantined(why="not JSON"))
    assert event(dispose(story, MessageRef(revision=story.revision), IGNORE)).disposition is IGNORE


# attest


def attest(story: Story, ref: ObjectRef, node: str = "n15", run: int = 0) -> Decided | Refused | Already:
    return answer(story, AttestNodeOff(**FIELDS, node=node, state=NodeAttested.OFF, object=ref, run=run))


def lost() -> tuple[Story, ObjectRef]:
    story, ref = launched()
    story.opened(ref).later(9).running(ref).later(9).ended(ref, cause=CRASHED, nodes=NODES)
    answered = (NodeState(node="n14"), NodeState(node="n15", state="down", may_run=("88213.0",)))
    return story.ceased(ref, answer=CessationAnswer.MAY_RUN, nodes=answered), ref


def test_a_persons_word_for_a_node_is_evidence_of_their_own_kept_apart_from_what_was_seen() -> None:
    """R6."""
    story, ref = lost()
    decided = attest(story, ref)
    assert isinstance(decided, Decided)
    assert decided.reason is None
    assert decided.event == events.CessationSeen(
        object=ref,
        run=0,
        answer=CessationAnswer.CEASED,
        basis=CessationBasis.OPERATOR,
        nodes=(NodeState(node="n15", state="off"),),
        as_of=story.at,
        attested_by="ana",
    )


@pytest.mark.parametrize(("node", "run"), [("n14", 0), ("n99", 0), ("n15", 1)])
def test_a_node_that_nothing_waits_for_is_not_attested(node: str, run: int) -> None:
    story, ref = lost()
    assert code(attest(story, ref, node, run)) is RefusalCode.NODE_NOT_WAITED_FOR


def test_a_node_is_not_attested_for_a_run_that_is_on_or_already_proven_gone() -> None:
    running, ref = launched()
    running.opened(ref).later(9).running(ref)
    assert code(attest(running, ref)) is RefusalCode.NODE_NOT_WAITED_FOR
    proven, ref = run_once()
    assert code(attest(proven, ref)) is RefusalCode.NODE_NOT_WAITED_FOR
    assert code(attest(proven, proven.foreign())) is RefusalCode.NODE_NOT_WAITED_FOR


def test_an_attestation_without_a_find_is_dated_by_the_hosts_last_word_not_by_our_clock() -> None:
    story, ref = lost()
    seen_at = story.at
    story.later(600)
    command = AttestNodeOff(**FIELDS, node="n15", state=NodeAttested.OFF, object=ref, run=0)
    decided = decide(record_of(story), command, Facts(now=story.at, actor="ana"))
    assert event(decided).as_of == seen_at


# controls


def control(standing: Control | None = None, **asked: Any) -> Decided | Refused | Already:
    key = standing.cluster or "" if standing else ""
    controls = Controls(by_cluster={key: standing} if standing else {}, number=3)
    command = SetControls(**{**FIELDS, "job": "_controls", **asked})
    return decide(record_of(Story(job="_controls")), command, Facts(now=BEGIN, controls=controls))


def test_controls_are_set_as_whole_values_from_what_stands_and_what_is_asked() -> None:
    standing = Control(cluster="hpc2", observe=True, brake_until_at=BEGIN, brake_cause="node-lost")
    decided = control(standing, cluster="hpc2", retries=Retries.OFF)
    assert decided == Decided(
        ControlsSet(cluster="hpc2", retries=False, observe=True, brake_until_at=BEGIN, brake_cause="node-lost"),
        Reason.PERSON_CONTROLS,
    )


@pytest.mark.parametrize("asked", [{"brake": BrakeOrder.CLEAR}, {"retries": Retries.ON}])
def test_clearing_the_brake_or_allowing_retries_lifts_the_brake(asked: dict[str, Any]) -> None:
    """R14."""
    standing = Control(cluster="hpc2", brake_until_at=BEGIN, brake_cause="node-lost")
    wanted = event(control(standing, cluster="hpc2", **asked))
    assert (wanted.brake_until_at, wanted.brake_cause, wanted.retries) == (None, "", True)


def test_a_control_that_stands_already_is_no_change() -> None:
    assert code(control(retries=Retries.ON)) is RefusalCode.NO_CHANGE
    assert code(control(Control(retries=False), retries=Retries.OFF)) is RefusalCode.NO_CHANGE
    assert code(control()) is RefusalCode.NO_CHANGE


def test_a_control_command_typed_twice_is_one() -> None:
    story = Story(job="_controls").append(ControlsSet(retries=False), Reason.PERSON_CONTROLS, command="c-old")
    again = SetControls(**{**FIELDS, "job": "_controls", "command": "c-old"}, retries=Retries.OFF)
    decided = decide(record_of(story), again, Facts(now=BEGIN, controls=Controls()))
    assert decided == Already(story.revision, 1)
