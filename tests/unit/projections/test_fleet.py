"""The fleet: one entry a job, and the order of `dispatch list`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from adapters.simulated.slurm_mishaps import SlurmMishaps
from projections.fleet import Checkpoint, FleetEntry, decode, decode_checkpoint, encode, entry_of, listed
from projections.status import Around, Nature, State
from streams.messages.commands import HoldJob
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.values import Phase
from tests.driver import BEGIN, Driver

AGAIN = RecoveryPlan(
    rules=(PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=3, backoff=Backoff(first=0)),)
)


async def run_to(phase: Phase, job: str = "llama", **spec: Any) -> Driver:
    driver = Driver(job=job)
    await driver.submit("sleep 100; exit 3", plan=AGAIN, **spec)
    await driver.until(lambda d: d.phase is phase)
    return driver


def told(driver: Driver) -> FleetEntry:
    return entry_of(driver.record, Around(now=driver.at, controls=driver.controls))


async def test_an_entry_holds_what_a_list_shows_of_a_job() -> None:
    driver = await run_to(Phase.RUNNING, nodes=2, labels={"team": "nlp"})
    entry = told(driver)
    assert (entry.tenant, entry.job, entry.key) == ("nlp", "llama", "nlp.llama")
    assert (entry.state, entry.nodes, entry.cluster, entry.owner) == (State.RUNNING, 2, "sim", "ana")
    assert entry.labels == {"team": "nlp"}
    assert (entry.waits, entry.nature, entry.needs_person, entry.outcome) == ("", None, False, None)
    assert (entry.number, entry.revision, entry.runs) == (driver.record.number, driver.record.revision, 1)
    assert entry.since == driver.at


async def test_a_wait_is_one_line_and_says_when_it_will_need_a_person() -> None:
    driver = await run_to(Phase.RUNNING, nodes=2)
    SlurmMishaps(driver.slurm).lose_node("n1")
    await driver.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.GATED)
    await driver.quiet()
    entry = told(driver)
    assert entry.waits == "proof that 1.0 is dead on n1"
    assert (entry.nature, entry.needs_person) == (Nature.BY_ITSELF, False)
    assert entry.waits_since is not None
    assert entry.person_at == entry.waits_since + timedelta(minutes=15)
    assert not entry.needs_person_at(entry.person_at - timedelta(seconds=1))
    assert entry.needs_person_at(entry.person_at)


async def test_those_that_need_a_person_come_first_then_by_name_settled_ones_last() -> None:
    running = await run_to(Phase.RUNNING, "bert-2")
    held = await run_to(Phase.RUNNING, "moe-31")
    settled = Driver(job="a-first")
    await settled.submit("exit 0")
    await settled.settle()
    late = await run_to(Phase.RUNNING, "vit-9", nodes=2)
    SlurmMishaps(late.slurm).lose_node("n1")
    await late.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.GATED)
    await held.order(HoldJob(**held.order_fields("c-hold")))
    await held.until(lambda d: len(d.record.submissions) == 2)
    entries = [told(driver) for driver in (settled, running, late, held)]
    now = max(driver.at for driver in (settled, running, late, held))
    assert [e.job for e in listed(entries, now)] == ["moe-31", "bert-2", "vit-9", "a-first"]
    assert [e.job for e in listed(entries, now + timedelta(minutes=16))] == ["moe-31", "vit-9", "bert-2", "a-first"]


async def test_an_entry_survives_the_bucket_and_other_bytes_are_no_entry() -> None:
    entry = told(await run_to(Phase.RUNNING))
    assert decode(encode(entry)) == entry
    assert decode(b"\x00") is None
    assert decode(b'{"complete_to": 7}') is None
    checkpoint = Checkpoint(complete_to=7, at=BEGIN, by="sv-a")
    assert decode_checkpoint(encode(checkpoint)) == checkpoint
    assert decode_checkpoint(encode(entry)) is None
    assert decode(encode(checkpoint)) is None
