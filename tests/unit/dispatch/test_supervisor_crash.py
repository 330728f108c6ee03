"""A supervisor that dies at any await, or whose append nobody confirms, is replaced by one that carries on (L11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from adapters.simulated.kubeflow import KubeflowSettings
from adapters.simulated.slurm import SlurmSettings
from streams.messages.commands import CancelJob, SubmitJob
from streams.messages.events import AttemptCommitted, CallCommitted
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.spec import JobSpec, Run
from streams.messages.values import Phase
from tests.driver import BEGIN, CLUSTER
from tests.unit.dispatch.stage import Stage

FIELDS: dict[str, Any] = {"tenant": "nlp", "job": "llama", "at": BEGIN}
AGAIN = RecoveryPlan(
    rules=(PlanRule(name="crash", on=("exit-code",), do=PlanAction.REQUEUE, budget=1, backoff=Backoff(first=0)),)
)


def submit(stage: Stage, program: str, plan: RecoveryPlan | None = None) -> None:
    spec = JobSpec(cluster=CLUSTER, run=Run(command=("sh", "-c", program)))
    stage.order(SubmitJob(command="c-submit", spec=spec, plan=plan, **FIELDS))


def succeeds(stage: Stage) -> None:
    submit(stage, "sleep 3")
    stage.until(lambda s: s.record.settled)


def fails_and_runs_again(stage: Stage) -> None:
    submit(stage, "sleep 3; exit 3", AGAIN)
    stage.until(lambda s: s.record.settled)


def is_cancelled(stage: Stage) -> None:
    submit(stage, "sleep 1000")
    stage.until(lambda s: any(job.phase in (Phase.RUNNING, Phase.ENDED) for job in s.cluster.jobs))
    stage.order(CancelJob(command="c-cancel", **FIELDS))
    stage.until(lambda s: s.record.settled)


SCENES: dict[str, tuple[Callable[[Stage], None], SlurmSettings | KubeflowSettings]] = {
    "slurm-succeeds": (succeeds, SlurmSettings(call_bound_s=10)),
    "slurm-requeued": (fails_and_runs_again, SlurmSettings(call_bound_s=10, incomplete=False)),
    "slurm-resubmitted": (fails_and_runs_again, SlurmSettings(call_bound_s=10)),
    "slurm-cancelled": (is_cancelled, SlurmSettings(call_bound_s=10)),
    "kubeflow-succeeds": (succeeds, KubeflowSettings(call_bound_s=10)),
    "kubeflow-resubmitted": (fails_and_runs_again, KubeflowSettings(call_bound_s=10)),
    "kubeflow-cancelled": (is_cancelled, KubeflowSettings(call_bound_s=10)),
}


def outcome(stage: Stage) -> str:
    record = stage.record
    assert record.settled
    if record.cancel is not None:
        return "cancelled"
    assert record.outcome is not None
    return f"{record.outcome.outcome.value} {record.outcome.cause.kind.value}"


def lawful(stage: Stage, expected: str, where: str) -> None:
    """The history keeps the laws, nothing is left alive, no two executions were, and the end is the same."""
    assert stage.broken() == [], where
    assert stage.most_alive <= 1, where
    assert stage.cluster.truth.living == [], where
    assert all(job.phase is Phase.ENDED for job in stage.cluster.jobs), where
    assert outcome(stage) == expected, where
    attempts = Counter(
        (e.event.submission, e.event.attempt) for e in stage.envelopes() if isinstance(e.event, AttemptCommitted)
    )
    assert set(attempts.values()) <= {1}, where
    numbers = [e.event.call for e in stage.envelopes() if isinstance(e.event, AttemptCommitted | CallCommitted)]
    assert len(numbers) == len(set(numbers)), where


@pytest.mark.parametrize("scene", SCENES)
def test_a_supervisor_may_die_at_every_await(scene: str) -> None:
    """L11, R2: before and after the effect of every use of a port, in passes and in calls."""
    play, settings = SCENES[scene]
    whole = Stage(settings)
    play(whole)
    expected = outcome(whole)
    lawful(whole, expected, "undisturbed")
    assert whole.pauses > 40
    for crash_at in range(1, whole.pauses + 1):
        stage = Stage(settings, crash_at=crash_at)
        play(stage)
        assert stage.lives == 2
        lawful(stage, expected, f"{scene}, died at {crash_at}: {stage.labels[crash_at - 1]}")


@pytest.mark.parametrize("stored", [False, True], ids=["lost", "stored"])
@pytest.mark.parametrize("scene", SCENES)
def test_an_append_that_nobody_confirms_changes_no_end(scene: str, stored: bool) -> None:
    """R22: at every append, stored or not."""
    play, settings = SCENES[scene]
    whole = Stage(settings)
    play(whole)
    for undecided_at in range(1, whole.appends + 1):
        stage = Stage(settings, undecided_at=undecided_at, undecided_stored=stored)
        play(stage)
        lawful(stage, outcome(whole), f"{scene}, append {undecided_at} undecided")
        repeated = Counter(e.id for e in stage.envelopes())
        assert set(repeated.values()) == {1}
