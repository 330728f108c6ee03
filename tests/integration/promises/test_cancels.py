"""A committed cancel is final, whoever is alive when it is asked and whatever is on its way (L2, R8)."""

from __future__ import annotations

import asyncio

from dispatch.client import Accepted, Refused, Stored
from streams.messages.commands import IfUnknown
from streams.messages.plan import RecoveryPlan
from streams.messages.reasons import RefusalCode
from tests.integration.promises.ground import Ground, names, running

ONCE = RecoveryPlan()


async def test_a_cancel_published_with_no_supervisor_alive_takes_effect_when_one_starts(here: Ground) -> None:
    adapter = here.adapter()
    async with here.replica("sv-a", adapter):
        await here.client.submit("llama", here.spec("sleep 600 & wait $!"), ONCE)
        await here.until("llama", running)
    here.client.timeout_s = 0.5
    assert isinstance(await here.client.cancel("llama"), Stored)
    async with here.replica("sv-b", adapter):
        record = await here.settled("llama")
    assert record.cancel is not None and record.cancel.complete
    assert here.ran("llama") == [1_000_000]
    await here.holds("llama")


async def test_a_job_submitted_and_cancelled_with_no_supervisor_alive_never_runs(here: Ground) -> None:
    here.client.timeout_s = 0.5
    await here.client.submit("llama", here.spec(), ONCE)
    await here.client.cancel("llama")
    async with here.replica("sv-a", here.adapter()):
        await here.settled("llama")
    assert here.ran("llama") == []
    await here.holds("llama")


async def test_an_open_that_lands_after_the_cancel_is_stopped_before_settlement(here: Ground) -> None:
    adapter = here.adapter()
    adapter.hold_open = asyncio.Event()
    async with here.replica("sv-a", adapter):
        await here.client.submit("llama", here.spec("sleep 600 & wait $!"), ONCE)
        await here.until("llama", lambda record: adapter.held_back == 1)
        assert isinstance(await here.client.cancel("llama"), Accepted)
        adapter.hold_open.set()
        await here.settled("llama")
    events = names(await here.history("llama"))
    opened = events.index("CallCommitted")
    assert opened < events.index("JobCancelled") < events.index("JobSettled")
    assert here.ran("llama") in ([], [1_000_000])
    await here.holds("llama")


async def test_a_submit_still_on_its_way_when_its_name_was_cancelled_is_refused(here: Ground) -> None:
    async with here.replica("sv-a", here.adapter()):
        assert isinstance(await here.client.cancel("llama", if_unknown=IfUnknown.RECORD), Accepted)
        answer = await here.client.submit("llama", here.spec(), ONCE)
        record = await here.settled("llama")
    assert isinstance(answer, Refused)
    assert answer.receipt.code is RefusalCode.JOB_CANCELLED
    assert record.submitted is None
    assert here.ran("llama") == []
    await here.holds("llama")


async def test_a_cancel_asked_twice_is_one_cancel(here: Ground) -> None:
    async with here.replica("sv-a", here.adapter()):
        await here.client.submit("llama", here.spec("sleep 600 & wait $!"), ONCE)
        await here.until("llama", running)
        first = await here.client.cancel("llama")
        second = await here.client.cancel("llama")
        await here.settled("llama")
    assert isinstance(first, Accepted) and isinstance(second, Accepted)
    assert first.receipt.revision == second.receipt.revision
    assert names(await here.history("llama")).count("JobCancelled") == 1
    await here.holds("llama")
