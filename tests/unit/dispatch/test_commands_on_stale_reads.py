"""Commands decided from reads that lag: what is refused, and what is written whole, comes from what the store holds."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from dispatch.act import Hands
from dispatch.replica.commands import handle, read_controls
from streams import codec, subjects
from streams.messages.commands import CancelJob, Command, Retries, SetControls
from streams.messages.events import Entry, Envelope
from streams.messages.reasons import RefusalCode
from streams.messages.receipts import Answer, Receipt
from tests.driver import CLUSTER, Driver


class LaggingHistory:
    """A history of which the next reads lack the newest entry: `lags` says which of them, counted from now."""

    def __init__(self, driver: Driver, *lags: int) -> None:
        self._history = driver.bus.history
        self._lags = set(lags)
        self._reads = count(1)

    async def read(self, tenant: str, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        entries = await self._history.read(tenant, job, after=after)
        return entries[:-1] if next(self._reads) in self._lags else entries

    async def last_revision(self, tenant: str, job: str) -> int:
        return await self._history.last_revision(tenant, job)

    async def append(self, envelope: Envelope) -> int:
        return await self._history.append(envelope)


class Taken:
    """One command in hand."""

    sequence = 1

    def __init__(self, command: Command) -> None:
        self.subject = subjects.command(command.tenant, "ana", codec.verb_of(command), command.job)
        self.data = codec.encode_command(command)

    async def ack(self) -> None: ...

    async def in_progress(self) -> None: ...


async def answered(driver: Driver, command: Command, *lags: int) -> Receipt:
    hands: Hands = replace(driver.hands, history=LaggingHistory(driver, *lags))  # type: ignore[arg-type]  # what a command needs of it
    receipt = await handle(hands, driver.bus.buckets, Taken(command))
    assert receipt is not None
    return receipt


def controls(driver: Driver, command: str, **wanted: Any) -> SetControls:
    return SetControls(command=command, tenant="nlp", job=subjects.CONTROLS, at=driver.at, cluster=CLUSTER, **wanted)


async def test_observing_does_not_lift_the_kill_switch_whichever_of_its_reads_lags() -> None:
    """L5: the values written whole are those of the revision that guards the append."""
    for lag in (1, 2):
        driver = Driver()
        await answered(driver, controls(driver, "c-1", retries=Retries.OFF))
        await answered(driver, controls(driver, "c-2", observe=True), lag)
        standing = (await read_controls(driver.hands, "nlp")).standing(CLUSTER)
        assert (standing.retries, standing.observe) == (False, True)


async def test_a_kill_switch_is_not_called_set_already_by_a_read_from_before_it_was_lifted() -> None:
    driver = Driver()
    await answered(driver, controls(driver, "c-1", retries=Retries.OFF))
    await answered(driver, controls(driver, "c-2", retries=Retries.ON))
    told = await answered(driver, controls(driver, "c-3", retries=Retries.OFF), 1, 2)
    assert told.answer is Answer.ACCEPTED
    assert not (await read_controls(driver.hands, "nlp")).standing(CLUSTER).retries


async def test_a_cancel_right_behind_its_submit_is_not_told_that_there_is_no_such_job() -> None:
    driver = Driver()
    await driver.submit("sleep 30")
    (submitted, *_) = await driver.entries()
    assert submitted.revision == await driver.bus.history.last_revision("nlp", driver.name.job)
    cancel = CancelJob(command="c-9", tenant="nlp", job=driver.name.job, at=driver.at)
    assert (await answered(driver, cancel, 1)).answer is Answer.ACCEPTED


async def test_what_the_store_itself_lacks_is_refused_at_the_first_read() -> None:
    driver = Driver()
    told = await answered(driver, CancelJob(command="c-9", tenant="nlp", job="moe", at=driver.at))
    assert (told.answer, told.code) == (Answer.REFUSED, RefusalCode.NO_SUCH_JOB)
