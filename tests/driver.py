"""One job driven through the real passes: a bus in memory, a simulated cluster, and time that the test moves.

    driver = Driver()
    await driver.submit("sleep 100")
    await driver.until(lambda d: d.phase is Phase.RUNNING)

Every history it makes was decided, appended and folded by the code under test; nothing is written by hand.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from adapters.errors import OutcomeUnknownError, UnreachableError
from adapters.simulated.adapter import KubeflowAdapter, SlurmAdapter
from adapters.simulated.host import Request
from adapters.simulated.kubeflow import KubeflowCluster, KubeflowPace, KubeflowSettings
from adapters.simulated.slurm import SlurmCluster, SlurmPace, SlurmSettings
from dispatch.act import Asked, Hands
from dispatch.act import decide as append
from dispatch.decide import Answered, Decided, Facts, decide
from dispatch.supervisor import Pass, run_pass
from projections.controls import Controls
from projections.evolve import empty, fold
from projections.record import Record
from streams.memory import MemoryBus
from streams.messages.calls import Capabilities, JobName
from streams.messages.commands import CancelJob, Command, IfUnknown, SubmitJob
from streams.messages.events import Entry
from streams.messages.plan import RecoveryPlan
from streams.messages.spec import JobSpec, Run
from streams.messages.values import ObjectRef, Phase

T = TypeVar("T")
CLUSTER = "sim"
INSTALLATION = "inst"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SLURM = SlurmPace(queue_s=0.1, stop_s=0.1, row_s=0.1)
KUBEFLOW = KubeflowPace(stop_s=0.1)
PASSES_MAX = 500


class Way:
    """The way to the scheduler. `cut`: nothing arrives. `lost`: verbs that never arrive, their callers told nothing.

    `late`: verbs that land, and whose answer is lost.
    """

    def __init__(self) -> None:
        self.cut = False
        self.lost: set[str] = set()
        self.late: set[str] = set()

    async def carry(self, request: Request[T]) -> T:
        if self.cut:
            raise UnreachableError("no way to the host")
        if request.verb in self.lost:
            raise OutcomeUnknownError("no answer in 30s: it may exist")
        request.arrive()
        answer = request.land()
        if request.verb in self.late:
            raise OutcomeUnknownError("no answer in 30s: it may exist")
        return answer


class Driver:
    """One job, one supervisor, one cluster. `asleep`: calls are committed and their supervisor dies before sending.

    `on`: the cluster's name; another one is a class of its own.
    """

    on = CLUSTER

    def __init__(
        self, settings: SlurmSettings | KubeflowSettings | None = None, *, tenant: str = "nlp", job: str = "llama"
    ) -> None:
        self.at = BEGIN
        self.way = Way()
        self.bus = MemoryBus()
        self.controls = Controls()
        self.record: Record = empty(tenant, job)
        self.last: Pass | None = None
        self.published: list[Record] = []
        self.asleep = False
        self.cluster, self.adapter = self._cluster(settings or SlurmSettings())
        self.name = JobName(installation=INSTALLATION, tenant=tenant, job=job)
        self._calls: list[asyncio.Future[None]] = []
        ids = itertools.count(1)
        self.hands = Hands(
            history=self.bus.history,
            adapter_of=lambda cluster: self.adapter if cluster == self.on else None,
            clock=self.now,
            new_id=lambda: f"{next(ids):026d}",
            by="replica:sv-a",
            installation=INSTALLATION,
            spawn=self._spawn,
            wake=self._wake,
            publish=self._publish,
        )

    def _cluster(
        self, settings: SlurmSettings | KubeflowSettings
    ) -> tuple[SlurmCluster | KubeflowCluster, SlurmAdapter | KubeflowAdapter]:
        if isinstance(settings, SlurmSettings):
            slurm = SlurmCluster(name=self.on, clock=self.now, settings=settings, pace=SLURM)
            return slurm, SlurmAdapter(slurm, self.way)
        kubeflow = KubeflowCluster(name=self.on, clock=self.now, settings=settings, pace=KUBEFLOW)
        return kubeflow, KubeflowAdapter(kubeflow, self.way)

    @property
    def slurm(self) -> SlurmCluster:
        assert isinstance(self.cluster, SlurmCluster)
        return self.cluster

    @property
    def kubeflow(self) -> KubeflowCluster:
        assert isinstance(self.cluster, KubeflowCluster)
        return self.cluster

    def now(self) -> datetime:
        return self.at

    def _spawn(self, call: Coroutine[Any, Any, None]) -> None:
        if self.asleep:
            call.close()
        else:
            self._calls.append(asyncio.ensure_future(call))

    async def _wake(self, tenant: str, job: str) -> None:
        """The loop of the test looks anyway."""

    async def _publish(self, record: Record) -> None:
        self.published.append(record)

    # what people do

    async def submit(
        self, program: str = "sleep 1000", *, plan: RecoveryPlan | None = None, command: str = "c-submit", **spec: Any
    ) -> Answered:
        """Submit a job that runs this shell line on the simulated cluster."""
        asked = JobSpec(cluster=self.on, run=Run(command=("sh", "-c", program)), **spec)
        return await self.order(SubmitJob(**self.order_fields(command), spec=asked, plan=plan))

    async def submit_twice_over(self, **fields: Any) -> None:
        """A Start whose answer was lost landed all the same, a second one too: one is chosen, the other's stop is lost."""
        self.way.late = {"start"}
        await self.submit(**fields)
        await self.until(lambda d: len(d.record.attempts) == 1)
        self.way.late = set()
        self.way.lost = {"stop"}
        self.slurm.jobs[0].hidden = True
        await self.until(lambda d: len(d.record.attempts) == 2)
        self.slurm.jobs[0].hidden = False
        self.slurm.touch(self.slurm.jobs[0])
        await self.until(lambda d: d.phase is Phase.GATED)
        await self.quiet()

    async def cancel(self, command: str = "c-cancel", note: str = "wrong data mix") -> Answered:
        return await self.order(CancelJob(**self.order_fields(command), note=note))

    async def cancel_unknown(self, command: str = "c-cancel") -> Answered:
        """A cancel that is recorded though no such job is known."""
        return await self.order(CancelJob(**self.order_fields(command), if_unknown=IfUnknown.RECORD))

    def order_fields(self, command: str) -> dict[str, Any]:
        """The fields that every command of this job has."""
        return {"command": command, "tenant": self.name.tenant, "job": self.name.job, "at": self.at}

    async def order(self, command: Command, *, actor: str = "ana") -> Answered:
        """A command decided and appended as a replica does; what became of it."""
        await self.read()
        facts = Facts(now=self.at, controls=self.controls, actor=actor)
        if not self.way.cut:
            able, found = await self.adapter.capabilities(), await self.adapter.find(self.name)
            facts = Facts(now=self.at, controls=self.controls, actor=actor, capabilities=able, found=found)
        answered = decide(self.record, command, facts)
        if isinstance(answered, Decided):
            asked = Asked(command.command, actor, command.on_behalf_of or None, command.note or None, command.at)
            self.record = await append(self.hands, self.record, answered.event, answered.reason, asked)
        return answered

    # passes and time

    async def read(self) -> Record:
        """The record with everything that is stored folded in."""
        tail = await self.bus.history.read(self.name.tenant, self.name.job, after=self.record.revision)
        self.record = fold(self.record, tail)
        return self.record

    def forget(self) -> None:
        """Another supervisor takes over, who holds nothing."""
        self.record = empty(self.name.tenant, self.name.job)

    async def look(self) -> Pass:
        """One pass, and every call it sent carried out; the record afterwards."""
        self.last = await run_pass(self.hands, self.record, self.controls)
        self.record = self.last.record
        while self._calls:
            calls, self._calls = self._calls, []
            await asyncio.gather(*calls)
        await self.read()
        return self.last

    async def pass_time(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.cluster.advance()

    async def until(self, met: Callable[[Driver], object], *, step_s: float = 5.0, passes: int = PASSES_MAX) -> Record:
        """Passes, with time between them, until the condition is met; AssertionError if it never is.

        Between two passes lies the time until the first one's due time, at most `step_s`.
        """
        for _ in range(passes):
            if met(self):
                return self.record
            done = await self.look()
            if met(self):
                return self.record
            due_s = step_s if done.due_at is None else (done.due_at - self.at).total_seconds()
            await self.pass_time(min(step_s, max(0.1, due_s)))
        raise AssertionError(f"never met in {passes} passes: {[type(e).__name__ for e in await self.events()]}")

    async def quiet(self, passes: int = 50) -> Record:
        """Passes at one instant until one of them changes nothing."""
        for _ in range(passes):
            before = self.record.revision
            await self.look()
            if self.record.revision == before:
                return self.record
        raise AssertionError(f"not quiet after {passes} passes")

    async def settle(self) -> Record:
        return await self.until(lambda d: d.record.settled)

    # what is there

    async def entries(self) -> tuple[Entry, ...]:
        return await self.bus.history.read(self.name.tenant, self.name.job)

    async def events(self) -> list[Any]:
        return [getattr(e.content, "event", e.content) for e in await self.entries()]

    async def capabilities(self) -> Capabilities:
        return await self.adapter.capabilities()

    @property
    def ref(self) -> ObjectRef:
        """The canonical object of the newest submission."""
        held = self.record.canonical()
        assert held is not None
        return held.ref

    def record_of(self, submission: int) -> ObjectRef:
        """The canonical object of that submission."""
        held = self.record.submission(submission)
        assert held is not None
        assert held.canonical is not None
        return held.canonical

    @property
    def phase(self) -> Phase | None:
        """The canonical object's phase as last seen."""
        held = self.record.canonical()
        return held.phase if held is not None else None

    def fill(self) -> None:
        """No node takes new work any more."""
        for node in self.cluster.truth.nodes.values():
            node.drained = True

    def empty(self) -> None:
        """Every node takes work again."""
        for node in self.cluster.truth.nodes.values():
            node.drained = False
