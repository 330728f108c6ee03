"""Starts whose answers are lost, that never land, or land late: one object runs, the others never do (R1, R2, R3)."""

from __future__ import annotations

import asyncio

from projections import fleet
from projections.status import Alert
from streams.messages.plan import RecoveryPlan
from streams.messages.spec import Unmatched
from streams.messages.values import AttemptRef, CauseKind, Disposition
from tests.integration.promises.ground import TENANT, Ground

ONCE = RecoveryPlan()


async def test_a_start_that_makes_its_object_and_loses_its_answer_three_times_over_runs_once(here: Ground) -> None:
    adapter = here.adapter()
    adapter.lose_start_answers = 3
    adapter.hide_until_starts = 3
    async with here.replica("sv-a", adapter):
        await here.client.submit("llama", here.spec(), ONCE)
        record = await here.settled("llama")
    assert adapter.starts == 3
    assert len(record.objects) == 3
    canonical = record.canonical()
    assert canonical is not None and canonical.attempt == 1
    assert sorted(o.attempt or 0 for o in record.objects.values() if o.retired) == [2, 3]
    assert here.ran("llama") == [1_000_000]
    await here.holds("llama")


async def test_a_job_whose_every_attempt_is_unknown_says_that_it_is_stuck_and_a_person_resolves_it(
    here: Ground,
) -> None:
    adapter = here.adapter()
    adapter.lose_starts = True
    async with here.replica("sv-a", adapter):
        await here.client.submit("moe", here.spec(unmatched=Unmatched.MANUAL), ONCE)

        async def stuck() -> bool:
            stored = await here.bus.buckets.get_status(fleet.key_of(TENANT, "moe"))
            told = fleet.decode(stored.data) if stored is not None else None
            return told is not None and Alert.STUCK in told.alerts and told.needs_person

        async with asyncio.timeout(60):
            while not await stuck():
                await asyncio.sleep(0.1)  # waits: the last Start to be over
        for attempt in (1, 2, 3):
            await here.client.dispose("moe", AttemptRef(submission=1, attempt=attempt), Disposition.GONE)
        record = await here.settled("moe")
    assert record.outcome is not None and record.outcome.cause.kind is CauseKind.LAUNCH_FAILED
    assert here.ran("moe") == []
    await here.holds("moe")


async def test_an_object_that_appears_after_its_attempt_was_given_up_is_retired_on_sight_and_never_runs(
    here: Ground,
) -> None:
    adapter = here.adapter()
    adapter.start_deadline_s = 30.0
    adapter.hold_start = asyncio.Event()
    async with here.replica("sv-a", adapter):
        await here.client.submit("late", here.spec(unmatched=Unmatched.MANUAL), ONCE)
        await here.until("late", lambda record: adapter.held_back == 1)
        await here.client.dispose("late", AttemptRef(submission=1, attempt=1), Disposition.GONE)
        await here.until("late", lambda record: all(a.given_up for a in record.attempts))
        adapter.hold_start.set()
        record = await here.settled("late")
    made = [o for o in record.objects.values() if o.attempt == 1]
    assert len(made) == 1 and made[0].retired
    assert here.ran("late") == []
    await here.holds("late")
