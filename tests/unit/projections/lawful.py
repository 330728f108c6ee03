"""Lawful histories, told event by event. `tests/histories` holds them as they were first written to the bus."""

from __future__ import annotations

from collections.abc import Callable

from streams.messages import events
from streams.messages.events import Quarantined
from streams.messages.reasons import Reason
from streams.messages.spec import Unmatched
from streams.messages.values import (
    AttemptRef,
    Cause,
    CauseKind,
    CessationAnswer,
    CessationBasis,
    Disposition,
    HoldKind,
    HoldSeen,
    MessageRef,
    NodeState,
    ObjectRef,
    Outcome,
    Phase,
    ReplyOutcome,
    StopBasis,
    Verb,
)
from tests.unit.projections.story import (
    CALL_BOUND_S,
    CRASHED,
    NODES,
    PREEMPTED,
    STOPPED,
    Story,
    launched,
    next_submission,
    run_once,
)

NODE_LOST = Cause(kind=CauseKind.NODE_LOST, nodes=("n15",))
UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED


def plain_success() -> Story:
    """Submitted, opened, ran, completed, settled: fourteen events."""
    story, ref = launched()
    story.opened(ref).later(5).seen((ref, Phase.QUEUED)).later(120).running(ref)
    story.later(7200).ended(ref, nodes=NODES).later(5).ceased(ref)
    return story.outcome().settled()


def crash_and_requeue() -> Story:
    """A rank fails; the same object is requeued into its gate and opened as run 1."""
    story, ref = run_once(cause=CRASHED)
    story.requeue_authorized(ref, 0).later(30).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0).replied()
    story.later(15).seen((ref, Phase.GATED, 1)).opened(ref, 1).later(20).running(ref, 1)
    story.later(4000).ended(ref, 1, nodes=NODES).later(5).ceased(ref, 1)
    return story.outcome().settled()


def preempted_and_resubmitted() -> Story:
    """Preempted; submission 2 is launched while 1 is still ending, and opened once 1 is proven gone."""
    story, first = launched()
    story.opened(first).later(60).running(first).later(900)
    story.seen(story.look(first, Phase.ENDING, cause=PREEMPTED, nodes=NODES))
    second = next_submission(story, 2, "preempted", PREEMPTED, "88543")
    story.later(40).ended(first, cause=PREEMPTED, nodes=NODES).later(5)
    story.ceased(first, answer=CessationAnswer.MAY_RUN, nodes=(NodeState(node="n14", may_run=("88213.0",)),))
    story.later(30).ceased(first).later(1).opened(second)
    story.later(60).running(second).later(5000).ended(second, nodes=NODES).later(5).ceased(second)
    return story.outcome(submission=2).settled()


def duplicate_starts() -> Story:
    """Both replies are lost and both Starts landed: the lower attempt is canonical, the other is stopped."""
    story = Story().submitted().later(1).authorized().attempt()
    story.later(30).replied(UNKNOWN, detail="no reply in 30s").attempt(1, 2).later(2).replied(UNKNOWN)
    one, two = story.ref("88543"), story.ref("88544", 1, 2)
    story.later(38).seen((one, Phase.GATED), (two, Phase.GATED)).canonical(one).retired(two, 1, 2)
    story.later(1).call(Verb.STOP, two, Reason.RETIRED).replied()
    story.later(40).ended(two, cause=STOPPED).later(1).opened(one)
    story.later(60).running(one).later(5000).ended(one, nodes=NODES).later(5).ceased(one)
    return story.outcome().settled()


def cancelled_in_flight() -> Story:
    """Cancelled while an Open is on its way: it lands, and the second stop by name waits until it cannot."""
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).later(3).cancelled()
    story.call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied().later(25).replied(UNKNOWN, call=2)
    story.running(ref).later(1).call(Verb.STOP, ref, Reason.JOB_OVER).replied()
    story.later(60).ended(ref, cause=STOPPED, nodes=NODES).later(5).ceased(ref)
    story.later(CALL_BOUND_S).call(Verb.STOP_JOB, reason=Reason.CALLS_OVER).replied()
    return story.later(5).seen().settled()


def cancelled_before_submit() -> Story:
    """A cancel of a name never seen is recorded: settled at once, and a submit on its way will be refused."""
    story = Story()
    event = events.JobCancelled()
    story.append(event, Reason.CANCEL_OF_UNKNOWN, command="c-5xq1", actor="ana", note="never mind")
    return story.settled(as_of=None)


def held_and_released() -> Story:
    """A person holds the queued object and lets it go again; one bit is gate and hold (Slurm)."""
    story, ref = launched()
    story.opened(ref).later(5).seen((ref, Phase.QUEUED)).later(20).hold_asked()
    story.call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=("c-2h4w",)).replied()
    story.later(5).seen(story.look(ref, Phase.GATED, hold=HoldSeen.USER)).later(600).hold_lifted()
    story.call(Verb.RELEASE, ref, Reason.HOLD_LIFTED, instances=("c-2h4w",)).replied()
    story.later(5).seen((ref, Phase.QUEUED)).later(60).running(ref)
    story.later(900).ended(ref, nodes=NODES).later(5).ceased(ref)
    return story.outcome().settled()


def unmatched_given_up() -> Story:
    """Three Starts, no reply, nothing found: given up once none can land any more."""
    story = Story().submitted().later(1).authorized()
    for attempt in (1, 2, 3):
        story.attempt(1, attempt).later(30).replied(UNKNOWN, detail="no reply in 30s").later(2)
    story.later(60 + CALL_BOUND_S)
    for attempt in (1, 2, 3):
        target = AttemptRef(submission=1, attempt=attempt)
        story.disposed(target, Disposition.GONE, "unmatched", as_of=story.at)
    cause = Cause(kind=CauseKind.LAUNCH_FAILED, raw={"unmatched": "every attempt was given up"})
    return story.outcome(Outcome.FAILED, cause=cause, rule="rest").settled()


def requeued_by_the_site() -> Story:
    """The site requeues the object: run 1 was never authorized, is stopped, and submission 2 follows."""
    story, ref = launched()
    story.opened(ref).later(60).running(ref).later(900).running(ref, 1)
    story.call(Verb.STOP, ref, Reason.UNAUTHORIZED_RUN).replied().later(40)
    story.ended(ref, 1, cause=PREEMPTED, nodes=NODES).later(5).ceased(ref).ceased(ref, 1)
    second = next_submission(story, 2, "preempted", PREEMPTED, "88600")
    story.later(1).opened(second).later(60).running(second).later(5000).ended(second, nodes=NODES)
    story.later(5).ceased(second)
    return story.outcome(submission=2).settled()


def node_lost_and_attested() -> Story:
    """A node is lost; a person vouches for it, the scheduler for the other, and submission 2 opens."""
    story, first = run_once_lost()
    second = next_submission(story, 2, "bad-node", NODE_LOST, "88543")
    state = NodeState(node="n15", state="off")
    story.later(1200).ceased(
        first, basis=CessationBasis.OPERATOR, nodes=(state,), attested_by="ana", as_of=story.after(-900)
    )
    story.opened(second).later(60).running(second).later(5000).ended(second, nodes=NODES).later(5).ceased(second)
    return story.outcome(submission=2).settled()


def run_once_lost() -> tuple[Story, ObjectRef]:
    """Submission 1 ended by a lost node, the other node proven."""
    story, ref = launched()
    story.opened(ref).later(30).running(ref).later(3600).ended(ref, cause=NODE_LOST, nodes=NODES).later(5)
    down = NodeState(node="n15", state="DOWN", may_run=("ranks 1-1",))
    story.ceased(ref, answer=CessationAnswer.MAY_RUN, nodes=(NodeState(node="n14"), down))
    return story, ref


def purged_and_verified() -> Story:
    """A duplicate is stopped and purged before any Find shows it ended: verified, not presumed."""
    story = Story().submitted().later(1).authorized().attempt()
    story.later(30).replied(UNKNOWN).attempt(1, 2).later(2).replied(object=story.ref("88544", 1, 2))
    one, two = story.ref("88543"), story.ref("88544", 1, 2)
    story.later(9).seen((one, Phase.GATED), (two, Phase.GATED)).canonical(one).retired(two, 1, 2)
    story.later(1).call(Verb.STOP, two, Reason.RETIRED).replied()
    story.later(30).seen(missing=(two,)).verified(two).opened(one)
    story.later(30).running(one).later(60).ended(one, nodes=NODES).later(5).ceased(one)
    return story.outcome().settled()


def foreign_ignored_and_manual() -> Story:
    """A stranger under our name is ignored; an attempt without an answer waits for a person's word."""
    story = Story().submitted(unmatched=Unmatched.MANUAL).later(1).authorized().attempt()
    story.later(30).replied(UNKNOWN).attempt(1, 2)
    ref, stranger = story.ref("88544", 1, 2), story.foreign()
    story.later(2).replied(object=ref).later(9)
    story.seen((ref, Phase.GATED), story.look(stranger, Phase.RUNNING, nodes=("n90",))).canonical(ref, 1, 2)
    story.later(60).disposed(stranger, Disposition.IGNORE, as_of=story.at).opened(ref)
    story.later(60).running(ref).later(100).ended(ref, nodes=NODES).later(5).ceased(ref)
    story.outcome().later(600).disposed(AttemptRef(submission=1, attempt=1), Disposition.GONE, as_of=story.at)
    return story.settled()


def adopted() -> Story:
    """A Start landed without its tag: a person says which attempt the object answers."""
    story = Story().submitted().later(1).authorized().attempt().later(30).replied(UNKNOWN)
    stranger = story.foreign()
    story.later(9).seen((stranger, Phase.GATED))
    story.disposed(stranger, Disposition.ADOPT, submission=1, attempt=1, as_of=story.at)
    story.later(9).canonical(stranger).opened(stranger).later(60).running(stranger)
    story.later(100).ended(stranger, nodes=NODES).later(5).ceased(stranger)
    return story.outcome().settled()


def refused_and_unreachable() -> Story:
    """Unreachable twice, which does not count; then refused for good: failed without any object."""
    story = Story().submitted(attempts_max=1).later(1).authorized()
    for attempt in (1, 2):
        story.attempt(1, attempt).replied(REFUSED, retry=True, detail="slurmctld does not answer").later(30)
    story.attempt(1, 3).later(1).replied(REFUSED, detail="invalid account")
    cause = Cause(kind=CauseKind.LAUNCH_FAILED, raw={"refusal": "invalid account"})
    return story.outcome(Outcome.FAILED, cause=cause, rule="rest").settled()


def quarantined_and_disposed() -> Story:
    """Somebody writes rubbish; nothing is decided until a person says ignore."""
    story, ref = launched()
    story.strange(Quarantined(why="no envelope: JSON is malformed")).later(5).seen((ref, Phase.GATED))
    message = MessageRef(revision=story.entries[-2].revision)
    story.later(600).disposed(message, Disposition.IGNORE).opened(ref)
    story.later(60).running(ref).later(100).ended(ref, nodes=NODES).later(5).ceased(ref)
    return story.outcome().settled()


def trainjob_held_and_released() -> Story:
    """A TrainJob: run 1 is ended by a hold, run 2 begins by the release once the pods of run 1 are gone."""
    story = Story("bert-2").submitted().later(1).authorized().attempt()
    ref = story.ref("bert-2")
    story.later(1).replied(object=ref).later(9).seen((ref, Phase.GATED, 1)).canonical(ref)
    story.opened(ref, 1).later(30).running(ref, 1).later(100)
    hold = events.HoldAsked(instance="c-2h4w", rule="person", kind=HoldKind.PERSON, now=True)
    story.append(hold, Reason.PERSON_HOLD, command="c-2h4w", actor="portal", on_behalf_of="bo")
    story.call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=("c-2h4w",)).replied()
    story.later(5).seen(story.look(ref, Phase.GATED, 2, hold=HoldSeen.USER)).hold_lifted()
    pod = NodeState(node="gpu-04", state="Ready=Unknown", may_run=("bert-2-node-0-1-x7k2p",))
    story.ceased(ref, 1, answer=CessationAnswer.MAY_RUN, nodes=(pod,)).later(60).ceased(ref, 1).later(1)
    story.call(Verb.RELEASE, ref, Reason.HOLD_LIFTED, run=2, instances=("c-2h4w",))
    story.replied(REFUSED, retry=True, detail="pods remain").later(30)
    story.call(Verb.RELEASE, ref, Reason.HOLD_LIFTED, run=2, instances=("c-2h4w",)).replied()
    story.later(30).running(ref, 2).later(500).ended(ref, 2, nodes=NODES)
    story.call(Verb.STOP, ref, Reason.CAN_RUN_AGAIN).replied().later(5).ceased(ref, 2)
    return story.outcome().settled()


def undecided_admission() -> Story:
    """A TrainJob's admission is never answered and the gate stays shut: the next one carries a new number."""
    story = Story("bert-3").submitted().later(1).authorized().attempt()
    ref = story.ref("bert-3")
    story.later(1).replied(object=ref).later(9).seen((ref, Phase.GATED, 1)).canonical(ref)
    story.call(Verb.OPEN, ref, run=1).later(30).replied(UNKNOWN).later(CALL_BOUND_S + 30)
    story.call(Verb.ADMIT, ref, run=2, by="admission:a-1").replied().later(30).running(ref, 2)
    story.later(500).ended(ref, 2, nodes=NODES).later(5).ceased(ref, 2).ceased(ref, 1)
    return story.outcome().settled()


def stray_after_settlement() -> Story:
    """Someone requeues the settled object by hand: it is stopped, and the job stays settled."""
    story = plain_success()
    ref = story.ref("88213")
    story.later(86400).running(ref, 1).call(Verb.STOP, ref, Reason.UNAUTHORIZED_RUN).replied()
    return story.later(60).ended(ref, 1, cause=STOPPED, nodes=NODES)


def late_evidence() -> Story:
    """An older Find is stored behind a newer one: it changes nothing, and an end that only it saw stays."""
    story, ref = launched()
    story.opened(ref).later(100).running(ref).later(100).ended(ref, nodes=NODES)
    late = story.look(ref, Phase.RUNNING, nodes=NODES)
    story.seen(late, as_of=story.after(-50), read_revision=story.entries[-3].revision).later(5).ceased(ref)
    return story.outcome().settled()


def processes_gone_though_purged() -> Story:
    """The object was purged before its end was seen; its processes are proven gone, so it is verified stopped."""
    story, ref = launched()
    story.opened(ref).later(100).running(ref).later(100).seen(missing=(ref,)).ceased(ref)
    story.verified(ref, basis=StopBasis.PROCESSES_GONE)
    return story.outcome(Outcome.FAILED, cause=Cause(kind=CauseKind.UNKNOWN), rule="rest").settled()


def controls() -> Story:
    """A tenant's own subject: kill switch on and off, observe mode."""
    story = Story("_controls")
    off = events.ControlsSet(cluster="hpc2", retries=False)
    story.append(off, Reason.PERSON_CONTROLS, command="c-1", actor="ana", note="maintenance")
    brake = events.ControlsSet(cluster="hpc2", brake_until_at=story.after(900), brake_cause="31 jobs ended within 4s")
    story.later(60).append(brake, Reason.BRAKE_TRIPPED)
    on = events.ControlsSet(cluster="hpc2", observe=True)
    return story.later(600).append(on, Reason.PERSON_CONTROLS, command="c-2", actor="ana")


LAWFUL: dict[str, Callable[[], Story]] = {
    story.__name__.replace("_", "-"): story
    for story in (
        plain_success,
        crash_and_requeue,
        preempted_and_resubmitted,
        duplicate_starts,
        cancelled_in_flight,
        cancelled_before_submit,
        held_and_released,
        unmatched_given_up,
        requeued_by_the_site,
        node_lost_and_attested,
        purged_and_verified,
        foreign_ignored_and_manual,
        adopted,
        refused_and_unreachable,
        quarantined_and_disposed,
        trainjob_held_and_released,
        undecided_admission,
        stray_after_settlement,
        late_evidence,
        processes_gone_though_purged,
        controls,
    )
}
