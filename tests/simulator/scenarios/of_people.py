"""What people ask in vain, or in an odd moment: each is told why, and nothing of the job changes.

They are ways through `decide` that no law needs broken rules for; simulation is to have gone them.
"""

from __future__ import annotations

from msgspec.structs import replace

from streams.messages import commands
from streams.messages.commands import Command
from streams.messages.plan import PlanAction, PlanRule, RecoveryPlan
from streams.messages.reasons import RefusalCode
from streams.messages.receipts import Answer, Receipt
from streams.messages.values import (
    AttemptRef,
    CauseKind,
    Disposition,
    MessageRef,
    NodeAttested,
    ObjectRef,
    Outcome,
    Phase,
    Target,
    Verb,
)
from tests.simulator.ledger import JOB
from tests.simulator.moves import COMPLETED
from tests.simulator.scenarios.steps import ended, running, unable
from tests.simulator.script import Script, appends, asks_for

REQUEUES = RecoveryPlan(rules=(PlanRule(name="again", on=(CauseKind.PREEMPTED,), do=PlanAction.REQUEUE, budget=1),))
NOBODY = ObjectRef(cluster="sim", id="999", created="nobody")


def told(s: Script, command: Command) -> Receipt:
    """The receipt of this command."""
    s.asks(command)
    return s.world.receipts[command.command]


def refused(s: Script, command: Command, code: RefusalCode) -> None:
    receipt = told(s, command)
    assert (receipt.answer, receipt.code) == (Answer.REFUSED, code), receipt


def accepted(s: Script, command: Command) -> None:
    receipt = told(s, command)
    assert receipt.answer is Answer.ACCEPTED, receipt


def already(s: Script, command: Command) -> None:
    receipt = told(s, command)
    assert receipt.answer is Answer.ALREADY, receipt


def disposes(s: Script, target: Target, disposition: Disposition) -> Command:
    return commands.Dispose(**s.base(), target=target, disposition=disposition)


def hold(s: Script, instance: str | None = None, *, now: bool = False) -> Command:
    return commands.HoldJob(**s.base(), instance=instance, now=now)


def requeue(s: Script, run: int = 0, *, resubmit: bool = False) -> Command:
    return commands.RequeueJob(**s.base(), run=run, resubmit=resubmit)


def submit(s: Script, **changed: object) -> Command:
    """The job of this script, or one that differs from it."""
    return replace(s.world.operators.submit(), **changed)


def spec(s: Script, **changed: object) -> object:
    return replace(s.world.swarm.spec, **changed)


def a_name_that_was_never_submitted() -> Script:
    """Orders for it are refused; a cancel that is to be recorded ends it, and the submit that follows comes too late."""
    s = Script("slurm", submitted=False)
    s.passes(s.one)
    refused(s, commands.CancelJob(**s.base()), RefusalCode.NO_SUCH_JOB)
    refused(s, hold(s), RefusalCode.NO_SUCH_JOB)
    refused(s, disposes(s, NOBODY, Disposition.GONE), RefusalCode.NO_SUCH_JOB)
    accepted(s, commands.CancelJob(**s.base(), if_unknown=commands.IfUnknown.RECORD))
    refused(s, hold(s), RefusalCode.OUTCOME_DECIDED)
    s.settles(s.one, 2)
    assert s.world.watch.record.settled
    refused(s, submit(s), RefusalCode.JOB_CANCELLED)
    return s


def a_history_that_begins_with_rubbish() -> Script:
    """Nothing is decided until a person has disposed of it; then the name stays unusable, since no submit began it."""
    s = Script("slurm", submitted=False)
    s.world.ledger.store(JOB, b"not an envelope")
    s.world.watch.stored(None)
    s.passes(s.one)
    refused(s, submit(s), RefusalCode.DECISIONS_STOPPED)
    first = s.world.watch.record.strange[0].revision
    refused(s, disposes(s, NOBODY, Disposition.IGNORE), RefusalCode.DECISIONS_STOPPED)
    refused(s, disposes(s, MessageRef(revision=first + 7), Disposition.IGNORE), RefusalCode.TARGET_UNKNOWN)
    refused(s, disposes(s, MessageRef(revision=first), Disposition.STOP), RefusalCode.TARGET_NOT_DISPOSABLE)
    accepted(s, disposes(s, MessageRef(revision=first), Disposition.IGNORE))
    s.passes(s.one)
    refused(s, submit(s), RefusalCode.SPEC_DIFFERS)
    refused(s, hold(s), RefusalCode.NO_SUCH_JOB)
    return s


def an_event_of_a_later_release_is_not_disposed_of() -> Script:
    """What a newer release knows is read by a newer release."""
    s = Script("slurm")
    s.world.swarm.levels["unknown-event"] = 1
    told_of = '"tenant":"nlp","job":"llama","expected":1,"at":"2026-01-01T00:00:00Z","by":"replica:later"'
    event = '{"type":"JobAdmired","by":"everybody"}'
    s.world.ledger.store(JOB, f'{{"v":1,"id":"{s.world.new_id()}",{told_of},"event":{event}}}'.encode())
    s.world.watch.stored(None)
    s.passes(s.one)
    later = s.world.watch.record.strange[0].revision
    refused(s, disposes(s, MessageRef(revision=later), Disposition.IGNORE), RefusalCode.TARGET_NOT_DISPOSABLE)
    return s


def submits_that_cannot_be_taken() -> Script:
    """Another spec under the name, a cluster nobody serves, a plan or a limit that the cluster cannot keep."""
    s = Script("slurm", submitted=False)
    s.cluster.otherwise = {"requeue_of": ()}
    refused(s, submit(s, plan=REQUEUES), RefusalCode.PLAN_UNSUPPORTED)
    refused(s, submit(s, spec=spec(s, time_limit=1)), RefusalCode.INVALID_SPEC)
    refused(s, submit(s, spec=spec(s, cluster="nowhere")), RefusalCode.UNKNOWN_CLUSTER)
    refused(s, submit(s, command="rule-1", spec=spec(s, hold="look first")), RefusalCode.INSTANCE_USED)
    s.cluster.otherwise = {"read_only": True}
    refused(s, submit(s), RefusalCode.PLAN_UNSUPPORTED)
    s.cluster.otherwise = {}
    accepted(s, submit(s))
    already(s, submit(s))
    refused(s, submit(s, spec=spec(s, nodes=2)), RefusalCode.SPEC_DIFFERS)
    s.settles(s.one, 3)
    return s


def submits_without_a_plan() -> Script:
    """The default plan is what the cluster can carry out."""
    s = Script("slurm", submitted=False)
    accepted(s, submit(s, plan=None, spec=spec(s, hold="look first")))
    s.settles(s.one, 2)
    return s


def orders_for_a_job_that_is_launched() -> Script:
    """There is no run yet to requeue, and no submission to follow."""
    s = Script("slurm")
    refused(s, requeue(s, resubmit=True), RefusalCode.RUN_IS_OVER)
    refused(s, requeue(s), RefusalCode.RUN_IS_OVER)
    s.settles(s.one)
    refused(s, requeue(s, resubmit=True), RefusalCode.RUN_IS_OVER)
    s.settles(s.one, 2)
    refused(s, requeue(s), RefusalCode.RUN_IS_OVER)
    return s


def orders_for_a_job_that_runs() -> Script:
    """Another run, a hold known by its name, one to lift that is not there, an id that was another command's."""
    s = running("slurm")
    refused(s, requeue(s, 4), RefusalCode.OTHER_RUN)
    accepted(s, hold(s, "night"))
    refused(s, hold(s, "night"), RefusalCode.INSTANCE_USED)
    refused(s, hold(s, "rule-1"), RefusalCode.INSTANCE_USED)
    refused(s, commands.ReleaseJob(**s.base(), instances=("day",)), RefusalCode.NOTHING_TO_LIFT)
    accepted(s, commands.ReleaseJob(**s.base(), instances=("night",)))
    refused(s, commands.ReleaseJob(**s.base()), RefusalCode.NOTHING_TO_LIFT)
    known = s.world.watch.record.commands
    refused(s, replace(hold(s), command=next(iter(known))), RefusalCode.COMMAND_ID_USED)
    accepted(s, requeue(s))
    refused(s, requeue(s), RefusalCode.RUN_IS_OVER)
    s.settles(s.one, 2)
    return s


def orders_that_the_cluster_cannot_carry_out() -> Script:
    """It cannot requeue, so it can hold no run now either."""
    s = unable("slurm", requeue_of=())
    refused(s, requeue(s), RefusalCode.NO_REQUEUE)
    refused(s, hold(s, now=True), RefusalCode.NO_HOLD_NOW)
    accepted(s, requeue(s, resubmit=True))
    return s


def orders_for_a_job_whose_ranks_have_finished() -> Script:
    """A run in place would leave them out; a run that began again is not the one that was seen."""
    s = running("kubeflow", nodes=2)
    s.moves_on(s.first)
    s.cluster.pod_ends(s.first.pods[0], COMPLETED)
    s.settles(s.one)
    refused(s, requeue(s, 1), RefusalCode.NO_REQUEUE)
    return s


def orders_for_a_job_that_is_over() -> Script:
    """An outcome stands: nothing is held, released or run again, and a cancel comes too late."""
    s = running("slurm")
    s.cluster.exit_by_itself(s.first, COMPLETED)
    s.cluster.complete(s.first)
    s.cluster.write_row(s.first)
    s.settles(s.one)
    refused(s, hold(s), RefusalCode.OUTCOME_DECIDED)
    refused(s, commands.ReleaseJob(**s.base()), RefusalCode.OUTCOME_DECIDED)
    refused(s, requeue(s), RefusalCode.OUTCOME_DECIDED)
    refused(s, commands.CancelJob(**s.base()), RefusalCode.OUTCOME_DECIDED)
    s.settles(s.one, 2)
    assert s.world.watch.record.settled
    refused(s, disposes(s, s.first.ref, Disposition.IGNORE), RefusalCode.TARGET_NOT_DISPOSABLE)
    return s


def orders_for_an_object_that_has_ended_for_good() -> Script:
    """Purged, it cannot be requeued; once is enough to cancel."""
    s = running("slurm-plain")
    ended(s)
    s.cluster.purge(s.first)
    s.passes(s.one)
    s.rest()
    refused(s, requeue(s), RefusalCode.RUN_IS_OVER)
    accepted(s, commands.CancelJob(**s.base()))
    already(s, commands.CancelJob(**s.base()))
    s.settles(s.one, 2)
    return s


def controls_that_stand_already() -> Script:
    """The same order twice is one order; what stands is not ordered again."""
    s = Script("slurm")
    order = commands.SetControls(**s.base_of_controls(), retries=commands.Retries.OFF)
    accepted(s, order)
    accepted(s, order)
    refused(s, replace(order, command="again"), RefusalCode.NO_CHANGE)
    accepted(s, commands.SetControls(**s.base_of_controls(), retries=commands.Retries.ON, observe=True))
    return s


def disposals_of_what_is_not_in_doubt() -> Script:
    """Attempts and objects that are known, nodes that nobody waits for, ends that the scheduler does not show."""
    s = running("slurm")
    own = s.first.ref
    refused(s, disposes(s, AttemptRef(submission=4, attempt=1), Disposition.GONE), RefusalCode.TARGET_UNKNOWN)
    refused(s, disposes(s, AttemptRef(submission=1, attempt=1), Disposition.GONE), RefusalCode.TARGET_NOT_DISPOSABLE)
    refused(s, disposes(s, NOBODY, Disposition.GONE), RefusalCode.TARGET_UNKNOWN)
    refused(s, disposes(s, own, Disposition.GONE), RefusalCode.TARGET_NOT_DISPOSABLE)
    for ref in (own, NOBODY):
        attest = commands.AttestNodeOff(**s.base(), node="n1", state=NodeAttested.OFF, object=ref, run=0)
        refused(s, attest, RefusalCode.NODE_NOT_WAITED_FOR)
    foreign = s.people.submit(s.world.name).ref
    s.settles(s.one)
    refused(s, disposes(s, foreign, Disposition.ADOPT), RefusalCode.NO_ATTEMPT_TO_ADOPT)
    refused(s, disposes(s, foreign, Disposition.GONE), RefusalCode.STILL_ALIVE)
    blind = disposes(s, foreign, Disposition.GONE)
    s.world.operators.publish(blind)
    s.one.receive(s.world.operators.waiting()[0])
    task = next(task for task in s.world.tasks if task.what == "command")
    s.loses(s.until(task, asks_for("find")))
    s.ends(task)
    assert s.world.receipts[blind.command].code is RefusalCode.STILL_ALIVE
    accepted(s, disposes(s, foreign, Disposition.STOP))
    s.settles(s.one, 2)
    return s


def attempts_that_were_answered() -> Script:
    """A refused Start, and one that was given up, are not in doubt; one that is can be answered by an object."""
    s = Script("slurm")
    s.cluster.refuse_starts = "invalid partition specified"
    s.settles(s.one)
    refused(s, disposes(s, AttemptRef(submission=1, attempt=1), Disposition.GONE), RefusalCode.TARGET_NOT_DISPOSABLE)
    s.cluster.refuse_starts = ""
    s.settles(s.one, 2)
    return s


def a_start_that_nobody_saw() -> Script:
    """Its attempt can only be given up, or answered by an object that bears no tag of ours."""
    s = Script("slurm", attempts_max=1)
    s.passes(s.one)
    late = s.sent("start")
    s.loses(late)
    s.rest()
    attempt = AttemptRef(submission=1, attempt=1)
    refused(s, disposes(s, attempt, Disposition.ADOPT), RefusalCode.TARGET_NOT_DISPOSABLE)
    foreign = s.people.submit(s.world.name).ref
    s.settles(s.one)
    accepted(s, disposes(s, foreign, Disposition.ADOPT))
    s.settles(s.one, 2)
    return s


def a_start_that_was_given_up() -> Script:
    """A person's word on it is final."""
    s = Script("slurm", attempts_max=1)
    s.passes(s.one)
    s.world.orphans.remove(s.loses(s.sent("start")))
    s.rest()
    attempt = AttemptRef(submission=1, attempt=1)
    accepted(s, disposes(s, attempt, Disposition.GONE))
    refused(s, disposes(s, attempt, Disposition.GONE), RefusalCode.TARGET_NOT_DISPOSABLE)
    s.settles(s.one, 2)
    return s


def a_requeue_that_its_run_does_not_wait_for() -> Script:
    """It completes before the requeue is sent: that is the job's success, and nothing is run again (R9)."""
    s = unable("slurm", requeue_of=(Phase.RUNNING, Phase.ENDED))
    accepted(s, requeue(s))
    s.cluster.exit_by_itself(s.first, COMPLETED)
    s.cluster.complete(s.first)
    s.cluster.write_row(s.first)
    s.settles(s.one, 3)
    record = s.world.watch.record
    assert record.outcome is not None
    assert record.outcome.outcome is Outcome.SUCCEEDED
    assert not any(call.verb is Verb.REQUEUE for call in record.calls.values())
    return s


def a_requeue_of_what_was_condemned_meanwhile() -> Script:
    """It is stopped, and not run again; a person who asks once more is told."""
    s = unable("slurm", requeue_of=(Phase.RUNNING, Phase.ENDED))
    s.mishaps.hide(s.first)
    s.settles(s.one)
    accepted(s, disposes(s, s.first.ref, Disposition.STOP))
    s.mishaps.show(s.first)
    s.passes(s.one)
    refused(s, requeue(s), RefusalCode.NO_REQUEUE)
    s.rest()
    s.settles(s.one, 2)
    return s


def a_requeue_of_a_run_that_has_completed() -> Script:
    """Asked between the look that showed it and the outcome."""
    s = unable("slurm", requeue_of=(Phase.RUNNING, Phase.ENDED))
    s.cluster.exit_by_itself(s.first, COMPLETED)
    s.cluster.complete(s.first)
    s.cluster.write_row(s.first)
    s.until(s.wakes(s.one), appends("OutcomeDecided"))
    refused(s, requeue(s), RefusalCode.RUN_IS_OVER)
    s.rest()
    return s


def a_cancel_on_a_cluster_that_is_gone() -> Script:
    """Nothing is called there but stops, and the cancel completes."""
    s = Script("slurm")
    s.cluster.otherwise = {"read_only": True, "takes_stops": True}
    s.settles(s.one, 2)
    s.cancels()
    s.settles(s.one, 3)
    assert s.world.watch.record.settled
    return s


TOLD = (
    a_requeue_of_what_was_condemned_meanwhile,
    a_requeue_of_a_run_that_has_completed,
    a_cancel_on_a_cluster_that_is_gone,
    a_requeue_that_its_run_does_not_wait_for,
    a_name_that_was_never_submitted,
    a_history_that_begins_with_rubbish,
    an_event_of_a_later_release_is_not_disposed_of,
    submits_that_cannot_be_taken,
    submits_without_a_plan,
    orders_for_a_job_that_is_launched,
    orders_for_a_job_that_runs,
    orders_that_the_cluster_cannot_carry_out,
    orders_for_a_job_whose_ranks_have_finished,
    orders_for_a_job_that_is_over,
    orders_for_an_object_that_has_ended_for_good,
    controls_that_stand_already,
    disposals_of_what_is_not_in_doubt,
    attempts_that_were_answered,
    a_start_that_nobody_saw,
    a_start_that_was_given_up,
)
