"""Each alert of docs/how-to/alerts.rules.yml is raised by what it is for, and by nothing before that."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from adapters.errors import AdapterError, DeadlinePassedError, OutcomeUnknownError, UnreachableError
from adapters.port import Adapter
from adapters.remote.agent import word_of
from adapters.simulated.adapter import SlurmAdapter
from adapters.simulated.slurm_mishaps import SlurmPeople
from dispatch.agent_metrics import AgentMetrics
from dispatch.replica.clusters import BoundedAdapter, Clusters
from dispatch.replica.measured import MeasuredHistory
from dispatch.replica.metrics import Metrics
from dispatch.replica.passes import keep_hold
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from projections.fleet import entry_of
from projections.status import Around
from streams import subjects
from streams.errors import NotPermittedError, RegressionError, StreamError, StreamFullError, UndecidedError
from streams.memory import MemoryBus
from streams.messages.calls import JobName
from streams.messages.events import ControlsSet, Entry, Envelope
from streams.messages.reasons import Reason
from streams.messages.spec import Unmatched
from streams.messages.values import Found, Phase
from tests.conformance.streams_world import an_event
from tests.driver import CLUSTER, INSTALLATION, Driver

DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "alerts.md"
RULES = DOCUMENT.with_name("alerts.rules.yml")
SELECTOR = r"(?P<name>\w+)(?:\{(?P<labels>[^}]*)\})?"
INCREASE = re.compile(rf"increase\({SELECTOR}\[\w+\]\) > (?P<most>\d+)")
COMPARED = re.compile(rf"{SELECTOR} (?P<how>[<>]) (?P<than>\d+|time\(\))")

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def rules() -> dict[str, str]:
    """Expression by alert, as an operator would copy them."""
    [group] = YAML(typ="safe", pure=True).load(RULES.read_text())["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def samples(registry: CollectorRegistry) -> Samples:
    """What a scrape reads."""
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def chosen(found: re.Match[str], scraped: Samples) -> Samples:
    wanted = set(re.findall(r'(\w+)="([^"]*)"', found["labels"] or ""))
    return {key: value for key, value in scraped.items() if key[0] == found["name"] and wanted <= key[1]}


def fires(expression: str, before: Samples, after: Samples, now: datetime) -> bool:
    """Whether Prometheus would raise it after these two scrapes, for the forms that the document uses."""
    if found := INCREASE.fullmatch(expression):
        grown = {key: value - before.get(key, 0) for key, value in chosen(found, after).items()}
        return any(by > int(found["most"]) for by in grown.values())
    found = COMPARED.fullmatch(expression)
    assert found is not None, f"no form that this test knows: {expression}"
    than = now.timestamp() if found["than"] == "time()" else int(found["than"])
    return any(value > than if found["how"] == ">" else value < than for value in chosen(found, after).values())


class Watched:
    """A driver's job as a replica counts it."""

    def __init__(self, driver: Driver | None = None) -> None:
        self.driver = driver or Driver()
        self.metrics = Metrics("sv-a")
        self.registry = self.metrics.registry
        self.metrics.beat(live=2, shards=4, reconnects=0, draining=False)

    @property
    def now(self) -> datetime:
        return self.driver.at

    async def look(self) -> None:
        """One pass, told and counted as a replica does."""
        done = await self.driver.look()
        around = Around(now=self.now, found=done.found, controls=self.driver.controls)
        self.metrics.told(entry_of(done.record, around), done)


Scenario = Callable[[Watched], Coroutine[Any, Any, None]]


async def unauthorized(here: Watched) -> None:
    await here.driver.submit(hold="not yet")
    await here.driver.until(lambda d: d.phase is Phase.GATED)
    assert SlurmPeople(here.driver.slurm).release(here.driver.slurm.jobs[0])
    await here.driver.pass_time(1)
    await here.look()


async def regressed(here: Watched) -> None:
    await here.driver.submit()
    await here.driver.until(lambda d: d.phase is Phase.RUNNING)
    here.driver.bus.history.go_back_to(1)
    here.driver.forget()
    await here.look()


async def quarantined(here: Watched) -> None:
    await here.driver.submit()
    await here.driver.bus.history.store_bytes(subjects.job("nlp", "llama"), b"\x00 not ours")
    await here.look()
    await here.look()


async def foreign(here: Watched) -> None:
    await here.driver.submit()
    await here.driver.until(lambda d: d.phase is Phase.RUNNING)
    SlurmPeople(here.driver.slurm).submit(here.driver.name)
    await here.driver.quiet()
    await here.look()


async def stuck(here: Watched) -> None:
    here.driver.way.lost = {"start"}
    await here.driver.submit(attempts_max=1, unmatched=Unmatched.MANUAL)
    await here.driver.until(lambda d: len(d.record.attempts) == 1)
    await here.driver.quiet()
    await here.driver.pass_time(300)
    await here.look()


async def braked(here: Watched) -> None:
    event = ControlsSet(cluster=CLUSTER, brake_until_at=here.now + timedelta(minutes=15), brake_cause="31 jobs ended")
    envelope = Envelope(
        id="0" * 26,
        tenant="nlp",
        job=subjects.CONTROLS,
        expected=0,
        at=here.now,
        by="replica:sv-b",
        event=event,
        reason=Reason.BRAKE_TRIPPED,
    )
    here.metrics.seen(Entry(tenant="nlp", job=subjects.CONTROLS, revision=1, stored_at=here.now, content=envelope))


def failing_append(error: StreamError) -> Scenario:
    async def scenario(here: Watched) -> None:
        class Failing(type(MemoryBus().history)):  # type: ignore[misc]  # the memory's own, but for this
            async def append(self, envelope: Envelope) -> int:
                raise error

        with pytest.raises(type(error)):
            await MeasuredHistory(Failing(), here.metrics).append(an_event(1))

    return scenario


async def displaced(here: Watched) -> None:
    heard = asyncio.Event()
    told = 0

    async def unconfirmed() -> None:
        nonlocal told
        told += 1
        if told > 3:
            heard.set()
        raise UndecidedError("dispatch.wake.nlp.llama", "+WPI")

    holding = asyncio.create_task(keep_hold(unconfirmed, 0.003, here.metrics.displaced))
    await heard.wait()
    holding.cancel()


def replica(bus: MemoryBus, here: Watched, **clusters: Adapter) -> Replica:
    """A replica that is counted instead of the driver's job."""
    settings = ReplicaSettings(name="sv-a", installation=INSTALLATION, heartbeat_s=0.01, drain_s=1.0)
    made = Replica(bus, Clusters(dict(clusters), None), settings)
    here.registry = made.metrics.registry
    return made


async def run_until(made: Replica, met: Callable[[], Awaitable[object]]) -> None:
    """The replica at work until something is so."""
    running = asyncio.create_task(made.run())
    while not await met():
        await asyncio.sleep(0.01)  # waits: the replica at work
    made.stop()
    await running


async def alone(here: Watched) -> None:
    bus = MemoryBus(shards=2)
    await run_until(replica(bus, here), bus.buckets.replicas)


async def malformed(here: Watched) -> None:
    bus = MemoryBus(shards=1)
    await bus.commands.publish_bytes("dispatch.command.nlp.ana.submit.llama", b"{")

    async def answered() -> bool:
        return not await bus.commands.waiting()

    await run_until(replica(bus, here), answered)


class Faulty(SlurmAdapter):
    """A cluster whose Find meets a fault of ours."""

    async def find(self, name: JobName) -> Found:
        raise RuntimeError("a fault of ours")


async def faulty(here: Watched) -> None:
    await here.driver.submit()
    bus = here.driver.bus
    await bus.wakeups.wake("nlp", "llama")
    made = replica(bus, here, **{CLUSTER: Faulty(here.driver.slurm)})

    async def met() -> bool:
        return samples(here.registry)["dispatch_faults_total", frozenset()] > 0

    await run_until(made, met)


def failing_calls(error: AdapterError, verb: str) -> Scenario:
    async def scenario(here: Watched) -> None:
        for _ in range(4):
            bounded = BoundedAdapter(CLUSTER, here.driver.adapter, here.metrics.called)
            with pytest.raises(AdapterError):
                await bounded._read(verb, failed(error))

    return scenario


async def failed(error: Exception) -> None:
    raise error


async def late(here: Watched) -> None:
    metrics = AgentMetrics("rig")
    here.registry = metrics.registry
    metrics.answered("start", word_of(DeadlinePassedError("3 s past its deadline")), 0.01)


async def gone(here: Watched) -> None:
    """As `dispatch agent gone` counts itself."""
    metrics = AgentMetrics("rig")
    here.registry = metrics.registry
    metrics.gone.set(1)


SCENARIOS: dict[str, Scenario] = {
    "DispatchUnauthorizedRun": unauthorized,
    "DispatchHistoryRegressed": regressed,
    "DispatchQuarantined": quarantined,
    "DispatchForeignObject": foreign,
    "DispatchStuck": stuck,
    "DispatchUnmatchedStart": stuck,
    "DispatchBrake": braked,
    "DispatchUndecidedAppends": failing_append(UndecidedError("dispatch.job.nlp.llama", "e-1")),
    "DispatchHistoryFull": failing_append(StreamFullError("at its limit")),
    "DispatchNotPermitted": failing_append(NotPermittedError("not allowed")),
    "DispatchHistoryShorter": failing_append(RegressionError("dispatch.job.nlp.llama", 9, 3)),
    "DispatchDisplaced": displaced,
    "DispatchFewReplicas": alone,
    "DispatchFault": faulty,
    "DispatchMalformedCommands": malformed,
    "DispatchClusterSilent": failing_calls(UnreachableError("no way to the host"), "find"),
    "DispatchCallsUnknown": failing_calls(OutcomeUnknownError("no answer"), "open"),
    "DispatchAgentLate": late,
    "DispatchClusterGone": gone,
}


@pytest.mark.parametrize("alert", SCENARIOS)
async def test_the_alert_is_raised_by_what_it_is_for_and_not_before(alert: str) -> None:
    expression = rules()[alert]
    here = Watched()
    before = samples(here.registry)
    assert not fires(expression, before, before, here.now)
    await SCENARIOS[alert](here)
    assert fires(expression, before, samples(here.registry), here.now)


def test_no_alert_is_written_down_that_no_test_reaches() -> None:
    assert rules().keys() == SCENARIOS.keys()
    assert set(re.findall(r"`(Dispatch\w+)`", DOCUMENT.read_text())) == set(SCENARIOS)


async def test_a_job_that_another_replica_looks_after_now_is_counted_there_alone() -> None:
    here = Watched()
    await foreign(here)
    bearing = ("dispatch_jobs_alerted", frozenset({("alert", "foreign!")}))
    assert samples(here.registry)[bearing] == 1
    entry = (await here.driver.entries())[-1]
    here.metrics.seen(entry)
    assert samples(here.registry)[bearing] == 1  # the driver writes as sv-a
    assert isinstance(entry.content, Envelope)
    other = Envelope(**{f: getattr(entry.content, f) for f in entry.content.__struct_fields__} | {"by": "replica:sv-b"})
    here.metrics.seen(Entry(tenant="nlp", job="llama", revision=99, stored_at=datetime.now(UTC), content=other))
    assert samples(here.registry)[bearing] == 0
