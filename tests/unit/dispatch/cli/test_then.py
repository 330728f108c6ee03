"""`--at EVENT`: the controls that stood then count, and none that came later."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import pytest

from dispatch.cli.commands import retries, status, why
from dispatch.cli.looking import controls
from dispatch.cli.params import ChangeFlags
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from tests.driver import CLUSTER, Driver
from tests.unit.dispatch.cli.stage import Stage
from tests.unit.dispatch.cli.test_persons import brake

AGAIN = PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=3, backoff=Backoff(first=0))
BECAUSE = ChangeFlags(reason="storm", yes=True)


async def stop(driver: Driver) -> None:
    assert await retries._set(Stage(driver, change=BECAUSE), CLUSTER, retries.Wanted(retries="off")) == 0


async def observe(driver: Driver) -> None:
    assert await retries._set(Stage(driver, change=BECAUSE), None, retries.Wanted(observe=True)) == 0


STANDING: dict[str, Callable[[Driver], Awaitable[None]]] = {"brake": brake, "stop": stop, "observe": observe}
KEPT = {"brake": "brake", "stop": "retries-stopped", "observe": "observed"}
FOR_ALL = pytest.mark.parametrize("name", STANDING)


async def waits_for_a_control(name: str) -> Driver:
    """A job that failed while the control stood: its retry waits."""
    driver = Driver()
    await STANDING[name](driver)
    async with Stage(driver).session() as session:
        driver.controls = await controls(session)
    await driver.submit("exit 3", plan=RecoveryPlan(rules=(AGAIN,)))
    await driver.until(lambda d: bool(d.record.objects) and all(each.ended for each in d.record.objects.values()))
    await driver.quiet()
    assert len(driver.record.submissions) == 1
    return driver


async def why_told(driver: Driver, at: str | None) -> str:
    stage = Stage(driver)
    await why._why(stage, why.WhyOptions(job="llama", at=at))
    return stage.said


async def status_told(driver: Driver, at: str | None) -> str:
    stage = Stage(driver)
    await status._one(stage, status.StatusOptions(job="llama", at=at), "llama")
    return stage.said


@FOR_ALL
async def test_why_at_an_event_is_blocked_by_the_control_that_stood_then(name: str) -> None:
    driver = await waits_for_a_control(name)
    then = await why_told(driver, str(driver.record.number))
    assert "blocked by 1 of 3 conditions" in then.splitlines()[0]
    assert re.search(rf"^  NO   retries may go +{KEPT[name]}$", then, re.MULTILINE)


@FOR_ALL
async def test_status_at_an_event_waits_for_the_control_that_stood_then(name: str) -> None:
    driver = await waits_for_a_control(name)
    then = await status_told(driver, str(driver.record.number))
    assert "WAITS FOR" in then
    assert "dispatch retries" in then


async def test_a_control_that_came_after_the_event_has_no_part_in_what_was_known_then() -> None:
    driver = Driver()
    await driver.submit("exit 3", plan=RecoveryPlan(rules=(AGAIN,)))
    await driver.until(lambda d: bool(d.record.objects) and all(each.ended for each in d.record.objects.values()))
    ended = str(driver.record.number)
    before = await why_told(driver, ended)
    await stop(driver)
    assert await why_told(driver, ended) == before
    assert "retries-stopped" not in before
