"""`up --stop-jobs`: what it says at its end is what became of each job, whoever's it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dispatch.cli.commands import up
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.stopping import Left, Stopping, cancel_open
from dispatch.client import AsyncClient
from streams.errors import BusClosedError, BusUnreachableError
from streams.messages.commands import Command
from streams.messages.spec import JobSpec, Run
from tests.driver import CLUSTER, Driver
from tests.unit.dispatch.cli.stage import Stage
from tests.unit.dispatch.cli.stage import decide as supervise

LLAMA, BERT = ("nlp", "llama"), ("vision", "bert")
SPEC = JobSpec(cluster=CLUSTER, run=Run(command=("sleep", "60")))


@asynccontextmanager
async def supervised(driver: Driver) -> AsyncIterator[None]:
    """Commands are decided, by the code that a replica runs."""
    deciding = asyncio.create_task(supervise(driver))
    yield
    deciding.cancel()
    await asyncio.gather(deciding, return_exceptions=True)


async def submitted() -> Driver:
    driver = Driver()
    await driver.submit("sleep 60")
    return driver


async def stopped(driver: Driver, within_s: float = 2) -> Left:
    """What becomes of the jobs; where nothing runs them, when this long has passed."""
    return await Stopping(Stage(driver), driver.bus).run(within_s)


async def test_a_bus_without_a_job_is_told_as_one() -> None:
    left = await stopped(Driver())
    assert (left.sentence(), left.exit) == ("no job was open", Exit.DONE)


async def test_a_job_that_stopped_is_counted_as_cancelled() -> None:
    driver = await submitted()
    async with supervised(driver):
        stopping = asyncio.create_task(stopped(driver, 30))
        while driver.record.cancel is None:
            await asyncio.sleep(0)
            await driver.read()
        await driver.settle()
        left = await stopping
    assert left == Left(cancelled=(LLAMA,))
    assert (left.sentence(), left.exit) == ("1 job was cancelled", Exit.DONE)


async def test_a_bus_that_is_lost_after_the_first_cancel_never_makes_it_nothing_was_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = await submitted()
    publish = driver.bus.commands.publish

    async def once(command: Command, *, actor: str) -> int:
        await publish(command, actor=actor)
        raise BusClosedError("the connection to the bus was closed for good: server shutdown")

    monkeypatch.setattr(driver.bus.commands, "publish", once)
    with pytest.raises(CliError) as caught:
        await stopped(driver)
    assert (caught.value.code, caught.value.exit_code) == ("bus-lost", Exit.UNDECIDED)
    assert await driver.bus.commands.waiting() == 1


async def test_a_bus_that_is_away_before_any_cancel_is_told_as_every_bus_that_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = await submitted()

    async def away() -> int:
        raise BusUnreachableError("nobody listens")

    monkeypatch.setattr(driver.bus.commands, "waiting", away)
    with pytest.raises(BusUnreachableError):
        await stopped(driver)


async def test_a_job_that_has_not_stopped_in_time_is_not_said_to_be_cancelled() -> None:
    async with supervised(driver := await submitted()):
        left = await stopped(driver)
    assert (left, left.exit) == (Left(stopping=(LLAMA,)), Exit.TIMED_OUT)
    assert left.sentence() == ("still stopping: llama of nlp (the cancels stand, the next `dispatch up` goes on)")


async def test_without_a_supervisor_nothing_is_said_to_be_cancelled() -> None:
    left = await stopped(await submitted(), 0.1)
    assert (left, left.exit) == (Left(undecided=(LLAMA,), waiting=1), Exit.UNDECIDED)
    assert left.sentence() == "UNDECIDED: llama of nlp (may run on until the next `dispatch up` decides)"


async def test_jobs_of_other_tenants_are_cancelled_too() -> None:
    async with supervised(driver := await submitted()):
        await AsyncClient(driver.bus, tenant="vision", actor="ben").submit("bert", SPEC)
        left = await stopped(driver)
    assert left == Left(stopping=(LLAMA, BERT))


async def test_a_submit_that_waits_on_the_bus_is_waited_for_and_its_job_cancelled() -> None:
    driver = Driver()
    client = AsyncClient(driver.bus, tenant="vision", actor="ben", timeout_s=0)
    await client.submit("bert", SPEC)
    left = await stopped(driver, 0.1)
    assert (left, left.exit) == (Left(waiting=1), Exit.UNDECIDED)
    assert left.sentence() == "1 command waits for the next `dispatch up`, a submit maybe"
    stopping = asyncio.create_task(stopped(driver))
    async with supervised(driver):
        assert await stopping == Left(stopping=(BERT,))


async def test_a_refused_cancel_is_told_with_its_reason_and_not_waited_for() -> None:
    driver = await submitted()
    await driver.bus.history.store_bytes("dispatch.job.nlp.llama", b"rubbish")
    async with supervised(driver):
        left = await stopped(driver, 600)
    ((name, why),) = left.refused
    assert (name, left.exit) == (LLAMA, Exit.REFUSED)
    assert left.sentence() == f"NOT cancelled: llama of nlp ({why})"


def test_the_last_line_tells_every_fate_and_the_exit_code_the_worst_one() -> None:
    left = Left(
        cancelled=(LLAMA, BERT),
        stopping=(("nlp", "a"),),
        refused=((("nlp", "b"), "it is quarantined"),),
        undecided=tuple(("nlp", name) for name in "cdefgh"),
        waiting=8,
    )
    assert left.sentence() == (
        "2 jobs were cancelled; still stopping: a of nlp (the cancels stand, the next `dispatch up` goes on); "
        "NOT cancelled: b of nlp (it is quarantined); UNDECIDED: c of nlp, d of nlp, e of nlp, f of nlp and 2 more "
        "(may run on until the next `dispatch up` decides); 2 commands wait for the next `dispatch up`, a submit maybe"
    )
    assert left.exit is Exit.UNDECIDED


async def test_where_the_bus_cannot_be_found_any_more_no_cancel_is_claimed(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="no job was cancelled"):
        await cancel_open(Stage(Driver()), tmp_path)


def test_what_was_not_done_is_told_even_to_who_wants_quiet() -> None:
    stage = Stage(Driver()).quiet()
    assert up._ended(stage, None) is Exit.DONE
    assert up._ended(stage, Left(cancelled=(LLAMA,))) is Exit.DONE
    assert stage.hinted == ""
    assert up._ended(stage, Left(undecided=(LLAMA,), waiting=1)) is Exit.UNDECIDED
    assert stage.hinted.startswith("stopped; UNDECIDED: llama of nlp")
