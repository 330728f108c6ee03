"""The three jobs whose supervisor is killed at every await, and from when on its awaits count."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

from dispatch import identity
from projections.record import Record
from streams.messages.commands import CancelJob, SubmitJob
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.spec import JobSpec, Run
from streams.messages.values import Phase
from tests.integration.kills import marks
from tests.integration.kills.lone import Fault, Place, Scenario, child

TENANT = "kills"
NEVER_AGAIN = RecoveryPlan()
ONCE_MORE = RecoveryPlan(
    rules=(PlanRule(name="crash", on=("exit-code",), do=PlanAction.REQUEUE, budget=1, backoff=Backoff(first=0.0)),)
)
FIRST, SECOND = 1_000_000, 1_000_001


def _submit(written: Path, job: str, body: str, plan: RecoveryPlan) -> SubmitJob:
    spec = JobSpec(
        cluster="local",
        run=Run(script=marks.script(body)),
        stop_grace=2,
        env={"MARKS": str(written)},
    )
    return SubmitJob(command=f"s-{job}", tenant=TENANT, job=job, at=identity.now(), spec=spec, plan=plan)


def launch(written: Path, job: str) -> Scenario:
    """From the command to the end of a job that runs once."""
    return Scenario(submit=_submit(written, job, "sleep 0.2", NEVER_AGAIN), armed=lambda record: True)


def recovery(written: Path, job: str) -> Scenario:
    """From the last look before the crash is seen to the end of the run that the plan allows."""

    def crashing(record: Record) -> bool:
        held = record.canonical()
        return held is not None and held.phase in (Phase.RUNNING, Phase.ENDING, Phase.ENDED)

    body = f'sleep 0.1; test "$DISPATCH_EPOCH" -gt {FIRST}'
    return Scenario(submit=_submit(written, job, body, ONCE_MORE), armed=crashing)


def cancel(written: Path, job: str) -> Scenario:
    """From the cancel of a running job to its settlement."""

    def runs(record: Record) -> bool:
        held = record.canonical()
        return held is not None and held.phase is Phase.RUNNING

    order = CancelJob(command=f"x-{job}", tenant=TENANT, job=job, at=identity.now())
    submit = _submit(written, job, "sleep 600 & wait $!", NEVER_AGAIN)
    return Scenario(submit=submit, armed=lambda record: False, order=order, when=runs)


def in_child(place: Place, make: Callable[[str], Scenario], job: str, fault: Fault) -> None:
    """What the forked process runs; a fault of its own is left beside what it tells."""
    try:
        child(place, make(job), fault)
    except BaseException:  # any: whatever it was is told to the test, and raised
        fault.told.with_suffix(".fault").write_text(traceback.format_exc())
        raise
