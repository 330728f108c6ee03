"""The Python client: four outcomes kept apart, the same command id is one command, with and without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from dispatch.blocking import Client, Loop
from dispatch.client import Accepted, AsyncClient, CommandIdUsedError, Refused, RunOf, Said, Stored, Undecided
from streams.errors import BusUnreachableError, UndecidedError
from streams.memory.queues import MemoryCommands
from streams.messages.commands import Command, IfUnknown, Retries
from streams.messages.reasons import RefusalCode
from streams.messages.receipts import Receipt
from streams.messages.spec import JobSpec, Run
from streams.messages.values import AttemptRef, Disposition, NodeAttested, Phase
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import decide

SPEC = JobSpec(cluster="sim", run=Run(command=("sleep", "60")))


def client_of(driver: Driver, *, timeout_s: float = 0.3) -> AsyncClient:
    return AsyncClient(driver.bus, tenant="nlp", actor="ana", timeout_s=timeout_s)


@asynccontextmanager
async def supervised(driver: Driver) -> AsyncIterator[AsyncClient]:
    deciding = asyncio.create_task(decide(driver))
    try:
        yield client_of(driver)
    finally:
        deciding.cancel()
        await asyncio.gather(deciding, return_exceptions=True)


async def test_an_accepted_submit_carries_its_receipt_and_the_same_again_is_already() -> None:
    async with supervised(Driver()) as client:
        first = await client.submit("llama", SPEC, said=Said(note="first try"))
        again = await client.submit("llama", SPEC)
        record = await client.record("llama")
    assert isinstance(first, Accepted)
    assert isinstance(again, Accepted)
    assert (first.already, first.receipt.number) == (False, 1)
    assert (again.already, again.receipt.revision) == (True, first.receipt.revision)
    assert record.submitted_by == "ana"


async def test_a_refusal_carries_its_stable_code_and_sentence() -> None:
    async with supervised(Driver()) as client:
        outcome = await client.cancel("nobody")
    assert isinstance(outcome, Refused)
    assert outcome.receipt.code is RefusalCode.NO_SUCH_JOB
    assert outcome.receipt.sentence


async def test_without_a_supervisor_a_command_is_stored_under_its_id() -> None:
    driver = Driver()
    outcome = await client_of(driver).cancel("llama", said=Said(command="c-mine"))
    assert outcome == Stored(command="c-mine", sequence=1)
    assert await driver.bus.commands.waiting() == 1


async def test_the_same_command_id_twice_is_one_command() -> None:
    driver = Driver()
    async with supervised(driver) as client:
        await client.submit("llama", SPEC)
        first = await client.hold("llama", said=Said(command="c-hold"))
        second = await client.hold("llama", said=Said(command="c-hold"))
        record = await client.record("llama")
    assert isinstance(first, Accepted)
    assert isinstance(second, Accepted)
    assert first.receipt.revision == second.receipt.revision
    assert list(record.holds) == ["c-hold"]


async def test_a_command_id_of_another_job_is_refused_before_anything_is_sent_and_says_whose_it_was() -> None:
    driver = Driver()
    async with supervised(driver) as client:
        first = await client.submit("llama", SPEC, said=Said(command="c-first"))
        assert isinstance(first, Accepted)
        with pytest.raises(CommandIdUsedError) as caught:
            await client.submit("llama-2", SPEC, said=Said(command="c-first"))
        assert await client.history("llama-2") == ()
        assert await client.receipt("c-first") == first.receipt
    assert str(caught.value) == "command id c-first was used for the submit of job llama, not of llama-2"
    assert await driver.bus.commands.waiting() == 0


async def test_a_command_id_of_the_controls_is_told_as_such() -> None:
    async with supervised(Driver()) as client:
        await client.controls(cluster="sim", retries=Retries.OFF, said=Said(command="c-stop"))
        with pytest.raises(CommandIdUsedError, match="for the control of the tenant's controls, not of llama"):
            await client.submit("llama", SPEC, said=Said(command="c-stop"))


async def test_a_receipt_of_another_job_that_came_meanwhile_is_never_this_ones() -> None:
    driver = Driver()
    async with supervised(driver) as client:
        first = await client.submit("llama", SPEC)
    assert isinstance(first, Accepted)
    outcome = await over(driver, Late(driver, first.receipt)).submit("bert", SPEC, said=Said(command="c-both"))
    assert outcome == Stored(command="c-both", sequence=2)


async def test_an_earlier_receipt_of_another_verb_is_not_the_answer_to_this_one() -> None:
    driver = Driver()
    async with supervised(driver) as client:
        await client.submit("llama", SPEC)
        assert isinstance(await client.hold("llama", said=Said(command="c-1")), Accepted)
        refused = await client.cancel("llama", said=Said(command="c-1"))
    assert isinstance(refused, Refused)
    assert refused.receipt.code is RefusalCode.COMMAND_ID_USED


async def test_a_refused_command_that_is_sent_again_is_told_what_became_of_it_now() -> None:
    driver = Driver()
    async with supervised(driver) as client:
        early = await client.cancel("llama", said=Said(command="c-1"))
        await client.submit("llama", SPEC)
        now = await client.cancel("llama", said=Said(command="c-1"))
    assert isinstance(early, Refused)
    assert isinstance(now, Accepted)


async def test_a_refused_command_that_is_sent_again_while_nobody_decides_is_stored_and_not_refused() -> None:
    driver = Driver()
    async with supervised(driver) as client:
        assert isinstance(await client.cancel("llama", said=Said(command="c-1")), Refused)
    again = await client_of(driver).cancel("llama", said=Said(command="c-1"))
    assert isinstance(again, Stored)


class Silent(MemoryCommands):
    """The way to the bus: what is sent is stored, and no answer comes back until the command was sent often enough."""

    def __init__(self, driver: Driver, *, answers: int | None = None, reachable: bool = True) -> None:
        super().__init__(driver.bus.store.commands, wait_s=0.1)
        self.answers = answers
        self.reachable = reachable
        self.sent = 0

    async def publish(self, command: Command, *, actor: str) -> int:
        if not self.reachable:
            raise BusUnreachableError("no server answers")
        self.sent += 1
        sequence = await super().publish(command, actor=actor)
        if self.answers is None or self.sent < self.answers:
            raise UndecidedError("dispatch.command", command.command)
        return sequence


class Late(Silent):
    """Another publisher's command of the same id is answered between the look at the id and our receipt."""

    def __init__(self, driver: Driver, earlier: Receipt) -> None:
        super().__init__(driver, answers=1)
        self.buckets = driver.bus.buckets
        self.earlier = earlier

    async def publish(self, command: Command, *, actor: str) -> int:
        await self.buckets.put_receipt(replace(self.earlier, command=command.command))
        return await super().publish(command, actor=actor)


def over(driver: Driver, way: Silent, *, timeout_s: float = 0.3) -> AsyncClient:
    """A client whose commands go that way."""
    bus = driver.bus.connect()
    bus.commands = way
    return AsyncClient(bus, tenant="nlp", actor="ana", timeout_s=timeout_s)


async def test_no_answer_from_the_bus_is_undecided_and_may_take_effect() -> None:
    driver = Driver()
    outcome = await over(driver, Silent(driver)).cancel("llama", said=Said(command="c-lost"))
    assert outcome == Undecided(command="c-lost")
    assert await driver.bus.commands.waiting() == 1


async def test_an_unanswered_command_is_sent_again_and_decided_once() -> None:
    driver = Driver()
    async with supervised(driver) as client:
        outcome = await over(driver, Silent(driver, answers=2), timeout_s=3.0).submit("llama", SPEC)
        assert isinstance(outcome, Accepted)
        assert len(await client.history("llama")) == 1


async def test_an_unanswered_command_that_has_its_refusal_is_not_sent_again() -> None:
    """Sent again it might be accepted, after its sender was told that nothing changed."""
    driver = Driver()
    way = Silent(driver)
    async with supervised(driver):
        outcome = await over(driver, way, timeout_s=3.0).cancel("nobody", said=Said(command="c-1"))
    assert isinstance(outcome, Refused)
    assert way.sent == 1


async def test_a_bus_that_cannot_be_reached_is_an_error_and_nothing_was_sent() -> None:
    driver = Driver()
    with pytest.raises(BusUnreachableError):
        await over(driver, Silent(driver, reachable=False)).cancel("llama")
    assert await driver.bus.commands.waiting() == 0


async def test_every_command_can_be_given() -> None:
    driver = Driver()
    async with supervised(driver) as client:
        await client.submit("llama", SPEC)
        await driver.until(lambda d: d.phase is Phase.RUNNING)
        ref = driver.ref
        given = [
            await client.hold("llama", instance="h-1"),
            await client.release("llama", instances=["h-1"]),
            await client.controls(cluster="sim", retries=Retries.OFF),
            await client.cancel("llama"),
            await client.cancel("other", if_unknown=IfUnknown.RECORD),
        ]
        refused = [
            await client.requeue("llama", run=0),
            await client.dispose("llama", AttemptRef(submission=1, attempt=1), Disposition.GONE),
            await client.attest("llama", "n1", NodeAttested.OFF, RunOf(object=ref, run=0)),
        ]
    assert all(isinstance(outcome, Accepted) for outcome in given), given
    codes = [outcome.receipt.code for outcome in refused if isinstance(outcome, Refused)]
    assert codes == [RefusalCode.OUTCOME_DECIDED, RefusalCode.TARGET_NOT_DISPOSABLE, RefusalCode.NODE_NOT_WAITED_FOR]


def test_a_program_without_an_event_loop_has_the_same_methods() -> None:
    loop = Loop()
    driver = loop.run(_driver())
    with Client(loop, client_of(driver)) as client:
        serving = loop.run(_serve(driver))
        outcome = client.submit("llama", SPEC)
        assert isinstance(outcome, Accepted)
        assert client.record("llama").spec == SPEC
        assert [entry.revision for entry in client.history("llama")] == [outcome.receipt.revision]
        assert client.receipt(outcome.receipt.command) == outcome.receipt
        assert isinstance(client.cancel("nobody"), Refused)
        loop.run(_stop(serving))


def test_closing_ends_the_calls_that_other_threads_wait_in() -> None:
    loop = Loop()
    client = Client(loop, client_of(loop.run(_driver()), timeout_s=300.0))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.cancel, "llama")
        while loop.run(client._inner.bus.commands.waiting()) == 0:
            pass
        client.close()
        with pytest.raises(CancelledError):
            waiting.result(timeout=60)
    client.close()
    with pytest.raises(RuntimeError, match="this client is closed"):
        client.record("llama")


async def _driver() -> Driver:
    return Driver()


async def _serve(driver: Driver) -> asyncio.Task[None]:
    return asyncio.create_task(decide(driver))


async def _stop(serving: asyncio.Task[None]) -> None:
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


def test_both_clients_promise_the_same_methods() -> None:
    public = {name for name in vars(AsyncClient) if not name.startswith("_")}
    own = {"fields", "publish", "wait_receipt"}
    assert {name for name in vars(Client) if not name.startswith("_")} - {"close"} == public - own
