"""Each of the eleven states is reached by a history that the code itself made, and every prefix has exactly one."""

from __future__ import annotations

import pytest

from adapters.simulated.kubeflow import KubeflowSettings
from adapters.simulated.slurm import SlurmSettings
from adapters.simulated.slurm_mishaps import SlurmMishaps, SlurmPeople
from projections.evolve import empty, evolve
from projections.record import Record
from projections.status import Around, State, since_of, state_of, status
from streams.messages.commands import HoldJob, ReleaseJob
from streams.messages.events import Envelope
from streams.messages.plan import PlanAction, PlanRule, RecoveryPlan
from streams.messages.values import Phase
from tests.driver import Driver

AGAIN = RecoveryPlan(rules=(PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=3),))
ASK = RecoveryPlan(rules=(PlanRule(name="ask", on=("any",), do=PlanAction.HOLD),))
CLUSTERS = [SlurmSettings(), KubeflowSettings(), KubeflowSettings(kueue=True)]


async def states(driver: Driver) -> list[State]:
    """The state at every prefix of the history, each told once as long as it lasts."""
    record: Record = empty(driver.name.tenant, driver.name.job)
    told: list[State] = []
    for entry in await driver.entries():
        record = evolve(record, entry)
        at = entry.content.at if isinstance(entry.content, Envelope) else entry.stored_at
        shown = status(record, Around(now=at))
        assert shown.state is state_of(record)
        if not told or told[-1] is not shown.state:
            told.append(shown.state)
    return told


@pytest.mark.parametrize("settings", CLUSTERS, ids=["slurm", "kubeflow", "kueue"])
async def test_a_job_that_ends_well_passes_from_accepted_to_succeeded(
    settings: SlurmSettings | KubeflowSettings,
) -> None:
    driver = Driver(settings)
    await driver.submit("sleep 30; exit 0")
    await driver.settle()
    told = await states(driver)
    assert told[:2] == [State.ACCEPTED, State.LAUNCHING]
    assert told[-4:] == [State.RUNNING, State.RECOVERING, State.ENDING, State.SUCCEEDED]


async def test_a_job_whose_plan_gives_up_has_failed() -> None:
    driver = Driver()
    await driver.submit("exit 3", plan=RecoveryPlan())
    await driver.settle()
    assert state_of(driver.record) is State.FAILED
    assert since_of(driver.record) == driver.record.settled_at


async def test_a_job_is_accepted_until_its_first_submission_is_authorized() -> None:
    driver = Driver()
    await driver.submit()
    assert state_of(driver.record) is State.ACCEPTED
    assert since_of(driver.record) == driver.at


async def test_a_job_whose_gate_is_open_is_queued_until_the_scheduler_starts_it() -> None:
    driver = Driver()
    driver.fill()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.QUEUED)
    opened_at = driver.at
    await driver.pass_time(3600)
    await driver.quiet()
    assert state_of(driver.record) is State.QUEUED
    assert since_of(driver.record) == opened_at
    driver.empty()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    assert state_of(driver.record) is State.RUNNING


async def test_a_job_recovers_from_its_end_until_its_next_run_is_let_go() -> None:
    driver = Driver()
    await driver.submit("sleep 30; exit 3", plan=AGAIN)
    await driver.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.RUNNING)
    told = await states(driver)
    assert told[-3:] == [State.RUNNING, State.RECOVERING, State.RUNNING]


async def test_a_run_that_is_being_ended_is_running_until_its_end_is_seen() -> None:
    driver = Driver()
    await driver.submit(nodes=2)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    SlurmMishaps(driver.slurm).lose_node("n1")
    await driver.quiet()
    assert driver.phase is Phase.ENDING
    assert state_of(driver.record) is State.RUNNING


async def test_a_job_submitted_held_is_held_until_somebody_releases_it() -> None:
    driver = Driver()
    await driver.submit(hold="wait for the data")
    await driver.quiet()
    assert state_of(driver.record) is State.HELD
    await driver.order(ReleaseJob(**driver.order_fields("c-release")))
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    assert state_of(driver.record) is State.RUNNING


async def test_a_hold_leaves_a_run_in_progress_running_and_is_the_state_once_that_has_ended() -> None:
    driver = Driver()
    await driver.submit("sleep 30; exit 3", plan=AGAIN)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.order(HoldJob(**driver.order_fields("c-hold"), note="debugging"))
    await driver.quiet()
    assert state_of(driver.record) is State.RUNNING
    await driver.until(lambda d: len(d.record.submissions) == 2)
    await driver.quiet()
    assert state_of(driver.record) is State.HELD


async def test_a_rule_that_asks_a_person_leaves_the_job_held() -> None:
    driver = Driver()
    await driver.submit("sleep 30; exit 3", plan=ASK)
    await driver.until(lambda d: d.record.in_force)
    await driver.quiet()
    assert state_of(driver.record) is State.HELD


async def test_an_administrators_hold_on_a_waiting_object_is_told_as_held() -> None:
    driver = Driver()
    driver.fill()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.QUEUED)
    assert SlurmPeople(driver.slurm).hold(driver.slurm.jobs[0], admin=True)
    await driver.quiet()
    assert state_of(driver.record) is State.HELD


async def test_a_cancelled_job_is_cancelling_until_it_is_settled() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.cancel()
    assert state_of(driver.record) is State.CANCELLING
    assert since_of(driver.record) == driver.at
    await driver.settle()
    assert state_of(driver.record) is State.CANCELLED


async def test_a_job_whose_outcome_is_committed_is_ending_until_it_is_settled() -> None:
    driver = Driver(KubeflowSettings())
    await driver.submit("sleep 30; exit 3", plan=RecoveryPlan())
    await driver.until(lambda d: d.record.outcome is not None and not d.record.settled)
    assert state_of(driver.record) is State.ENDING


async def test_a_name_cancelled_before_it_was_submitted_is_cancelled() -> None:
    driver = Driver()
    await driver.cancel_unknown()
    assert state_of(driver.record) is State.CANCELLING
    await driver.quiet()
    assert state_of(driver.record) is State.CANCELLED
