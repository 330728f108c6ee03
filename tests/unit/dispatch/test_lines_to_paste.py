"""Every line that a wait tells people to paste is one that the program understands."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from datetime import timedelta

import click
import pytest

from adapters.simulated.slurm_mishaps import SlurmMishaps, SlurmPeople
from dispatch.cli.main import PROGRAM
from projections.controls import Control, Controls
from projections.status import Around, status
from streams import subjects
from streams.messages.calls import Inspection
from streams.messages.commands import Dispose
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.spec import Unmatched
from streams.messages.values import Disposition, Phase
from tests.driver import CLUSTER, Driver

AGAIN = RecoveryPlan(
    rules=(PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=3, backoff=Backoff(first=0)),)
)


async def running(nodes: int = 1) -> Driver:
    driver = Driver()
    await driver.submit("sleep 100; exit 3", plan=AGAIN, nodes=nodes)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    return driver


async def lost_node() -> Driver:
    driver = await running(nodes=2)
    SlurmMishaps(driver.slurm).lose_node("n1")
    await driver.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.GATED)
    return driver


async def held() -> Driver:
    driver = Driver()
    await driver.submit(hold="wait for the data")
    return driver


async def stuck() -> Driver:
    driver = Driver()
    driver.way.lost = {"start"}
    await driver.submit(attempts_max=1, unmatched=Unmatched.MANUAL)
    return driver


async def foreign_beside_an_unmatched_start() -> Driver:
    driver = await stuck()
    SlurmPeople(driver.slurm).submit(driver.name)
    return driver


async def unreadable() -> Driver:
    driver = await running()
    await driver.bus.history.store_bytes(subjects.job("nlp", "llama"), b"{")
    return driver


async def gone_back() -> Driver:
    driver = await running()
    driver.bus.history.go_back_to(1)
    driver.forget()
    return driver


async def absent() -> Driver:
    driver = await running()
    driver.slurm.jobs[0].hidden = True
    driver.slurm.touch(driver.slurm.jobs[0])
    await driver.pass_time(5)
    return driver


async def left_alone() -> Driver:
    driver = await absent()
    await driver.quiet()
    await driver.order(Dispose(**driver.order_fields("c-ignore"), target=driver.ref, disposition=Disposition.IGNORE))
    return driver


async def braked() -> Driver:
    driver = await running()
    until = driver.at + timedelta(days=1)
    driver.controls = Controls(by_cluster={CLUSTER: Control(cluster=CLUSTER, brake_until_at=until)})
    await driver.until(lambda d: d.phase is Phase.ENDED)
    return driver


async def queued() -> Driver:
    driver = Driver()
    driver.fill()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.QUEUED)
    return driver


SITUATIONS: dict[Callable[[], Awaitable[Driver]], set[str]] = {
    lost_node: {"attest", "cancel"},
    held: {"release", "cancel"},
    stuck: {"dispose", "cancel"},
    foreign_beside_an_unmatched_start: {"dispose", "cancel"},
    unreadable: {"dispose"},
    gone_back: {"dispose"},
    absent: {"dispose", "cancel"},
    left_alone: {"requeue", "cancel"},
    braked: {"retries"},
    queued: {"cancel"},
}


def understood(line: str) -> str:
    """The verb of a line that parses whole; click raises otherwise."""
    program, verb, *words = shlex.split(line)
    assert program == "dispatch"
    command = PROGRAM.get_command(click.Context(PROGRAM), verb)
    assert command is not None, line
    command.make_context(verb, words)
    return verb


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.__name__)
async def test_every_line_a_wait_offers_parses(situation: Callable[[], Awaitable[Driver]]) -> None:
    driver = await situation()
    await driver.read()
    await driver.quiet()
    shown = status(driver.record, Around(now=driver.at, controls=driver.controls))
    if situation is queued:
        asked = ((driver.ref, Inspection(pending_reason="PartitionTimeLimit")),)
        shown = status(driver.record, Around(now=driver.at, inspections=asked))
    lines = [can.command for wait in shown.waits for can in wait.can]
    assert {understood(line) for line in lines} == SITUATIONS[situation]
