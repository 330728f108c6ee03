"""The fleet: one entry a job, the order of `dispatch list`, and the same entries however it was rebuilt."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from adapters.simulated.slurm_mishaps import SlurmMishaps
from projections.controls import Controls, fold_controls
from projections.evolve import empty, fold
from projections.fleet import Checkpoint, Fleet, FleetEntry, decode, decode_checkpoint, encode, entry_of, listed
from projections.status import Around, Nature, State
from streams.messages.commands import HoldJob, SetControls
from streams.messages.events import Entry
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


def woven(*histories: tuple[Entry, ...]) -> list[Entry]:
    """Several jobs' histories as one stream: in turns, with revisions of the whole."""
    entries: list[Entry] = []
    for place in range(max(len(history) for history in histories)):
        entries += [history[place] for history in histories if place < len(history)]
    return [replace(entry, revision=number) for number, entry in enumerate(entries, 1)]


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


async def test_a_fleet_rebuilt_from_the_history_tells_the_same_as_the_passes_did() -> None:
    running = await run_to(Phase.RUNNING, "bert-2")
    done = Driver(job="done")
    await done.submit("exit 0")
    await done.settle()
    entries = woven(await running.entries(), await done.entries())
    fleet = Fleet()
    for entry in entries:
        fleet.apply(entry)
    assert fleet.complete_to == len(entries)
    assert fleet.unsettled() == {("nlp", "bert-2")}
    shown = {e.job: e for e in fleet.entries(running.at)}
    expected = fold(empty("nlp", "bert-2"), [e for e in entries if e.job == "bert-2"])
    assert shown["bert-2"] == entry_of(expected, Around(now=running.at))
    assert (shown["done"].state, shown["done"].outcome) == (State.SUCCEEDED, "succeeded")
    assert fleet.record("nlp", "bert-2") == expected
    assert fleet.record("nlp", "done") is None
    assert fleet.stale == set()


async def test_entries_seen_before_change_nothing() -> None:
    history = await (await run_to(Phase.RUNNING)).entries()
    fleet = Fleet()
    for entry in (*history, *history):
        fleet.apply(entry)
    record = fleet.record("nlp", "llama")
    assert record is not None
    assert record.number == len(history)


async def test_a_fleet_restored_from_the_bucket_marks_what_it_has_to_read_again() -> None:
    driver = await run_to(Phase.RUNNING)
    fleet = Fleet()
    fleet.restore([told(driver)], complete_to=driver.record.revision)
    assert fleet.unsettled() == {("nlp", "llama")}
    assert [e.state for e in fleet.entries(driver.at)] == [State.RUNNING]
    await driver.cancel()
    for entry in await driver.entries():
        fleet.apply(entry)
    assert fleet.stale == {("nlp", "llama")}
    fleet.hold(driver.record, driver.at)
    assert fleet.stale == set()
    assert [e.state for e in fleet.entries(driver.at)] == [State.CANCELLING]
    await driver.settle()
    for entry in await driver.entries():
        fleet.apply(entry)
    assert fleet.unsettled() == frozenset()
    assert [e.state for e in fleet.entries(driver.at)] == [State.CANCELLED]


async def test_news_of_a_settled_job_makes_it_stale_and_never_open() -> None:
    driver = Driver()
    await driver.submit("exit 0")
    await driver.settle()
    history = await driver.entries()
    fleet = Fleet()
    for entry in history:
        fleet.apply(entry)
    fleet.apply(replace(history[4], revision=history[-1].revision + 1))
    assert fleet.stale == {("nlp", "llama")}
    assert fleet.unsettled() == frozenset()


async def test_an_older_entry_never_replaces_a_newer_one() -> None:
    driver = await run_to(Phase.RUNNING)
    older = told(driver)
    await driver.cancel()
    newer = told(driver)
    fleet = Fleet()
    assert fleet.put(newer)
    assert not fleet.put(older)
    assert [e.state for e in fleet.entries(driver.at)] == [State.CANCELLING]


async def test_what_a_pass_saw_beside_the_record_is_told_until_the_history_moves_on() -> None:
    driver = await run_to(Phase.RUNNING)
    fleet = Fleet()
    for entry in await driver.entries():
        fleet.apply(entry)
    silent = entry_of(driver.record, Around(now=driver.at, unreachable_since=driver.at))
    fleet.put(silent)
    assert [a.value for a in fleet.entries(driver.at)[0].alerts] == ["unreachable"]
    await driver.cancel()
    for entry in await driver.entries():
        fleet.apply(entry)
    assert fleet.entries(driver.at)[0].alerts == ()


async def test_a_tenants_controls_are_folded_beside_its_jobs() -> None:
    controls = Driver(job="_controls")
    await controls.order(SetControls(**controls.order_fields("c-observe"), observe=True))
    history = await controls.entries()
    fleet = Fleet()
    fleet.apply(history[0])
    assert fleet.controls["nlp"] == fold_controls(Controls(), history)
    assert fleet.entries(controls.at) == []
    assert fleet.unsettled() == frozenset()
