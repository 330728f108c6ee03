"""One supervisor process in the simulated world: the real pass and the real calls, driven by hand.

It can die at any await and start again with nothing. Its coroutines are never run by an event loop: each is sent an
answer, or an error, when the world says so.
"""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from adapters.port import Adapter
from adapters.simulated.adapter import KubeflowAdapter, SlurmAdapter
from adapters.simulated.host import Request
from adapters.simulated.slurm import SlurmCluster
from dispatch import act, supervisor
from dispatch.act import Hands
from projections.controls import Controls, fold_controls
from projections.evolve import empty, fold
from projections.record import Record
from streams import subjects
from streams.messages.events import Entry, Envelope, SeenEvent
from tests.simulator.flight import AppendFlight, CallFlight, Flight, ReadFlight
from tests.simulator.ledger import JOB, TENANT

if TYPE_CHECKING:
    from tests.simulator.world import World

T = TypeVar("T")
INSTALLATION = "lab"


class Task:
    """One coroutine of a process and the flight it waits for."""

    __slots__ = ("coroutine", "failed", "flight", "process", "unseen", "what")

    def __init__(self, process: Process, what: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.process = process
        self.what = what
        self.coroutine = coroutine
        self.flight: Flight | None = None
        self.failed = False
        self.unseen: SeenEvent | None = None


class SimulatedHistory:
    """`streams.ports.History` as one process sees it; `follow` and the rest are the replica's, not the pass's."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def read(self, tenant: str, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        entries: tuple[Entry, ...] = await ReadFlight(self._process.world, self._process, job, after)
        return entries

    async def append(self, envelope: Envelope) -> int:
        revision: int = await AppendFlight(self._process.world, self._process, envelope)
        return revision


class SimulatedWay:
    """The channel of one process to the scheduler's host."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def carry(self, request: Request[T]) -> T:
        answer: T = await CallFlight(self._process.world, self._process, request)
        return answer


class Process:
    """`generation` is the history's it was started on; `life` counts its starts over all processes."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.number = number
        self.skew_s = 0.0
        self.tasks: list[Task] = []
        self.begin()

    def begin(self) -> None:
        """Start with nothing."""
        world = self.world
        world.lives += 1
        self.life = world.lives
        self.generation = world.ledger.generation
        self.held: Record = empty(TENANT, JOB)
        self.controls = Controls()
        self.passing = False
        cluster, way = world.cluster, SimulatedWay(self)
        self.adapter: Adapter = (
            SlurmAdapter(cluster, way) if isinstance(cluster, SlurmCluster) else KubeflowAdapter(cluster, way)
        )
        self.hands = Hands(
            history=SimulatedHistory(self),  # type: ignore[arg-type]
            adapter_of=self._adapter_of,
            clock=self.clock,
            new_id=world.new_id,
            by=f"replica:{self.number}-{self.life}",
            installation=INSTALLATION,
            spawn=self._spawn,
            wake=self._wake,
            publish=self._publish,
        )

    def clock(self) -> datetime:
        now = self.world.now
        return now + timedelta(seconds=self.skew_s) if self.skew_s else now

    def _adapter_of(self, cluster: str) -> Adapter | None:
        return self.adapter if cluster == self.world.cluster.name else None

    async def _wake(self, tenant: str, job: str) -> None:
        self.world.woken = True

    async def _publish(self, record: Record) -> None:
        self.world.published(record)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self.world.start(Task(self, "call", coroutine))

    def wake(self) -> None:
        """Begin a pass, unless one is on."""
        if not self.passing:
            self.passing = True
            self.world.start(Task(self, "pass", self._pass()))

    async def _pass(self) -> None:
        history = self.hands.history
        entries = await history.read(TENANT, subjects.CONTROLS, after=self.controls.revision)
        self.controls = fold_controls(self.controls, entries)
        ended = await supervisor.run_pass(self.hands, self.held, self.controls)
        self.held = ended.record
        self.world.passed(self, ended)

    async def command(self, build: Any) -> None:
        """Decide one command, again on each conflict, as the replica does."""
        await build(self)

    def crash(self) -> list[Flight]:
        """Die now; what was sent goes on without it."""
        orphans = [task.flight for task in self.tasks if task.flight is not None and task.flight.goes_on]
        for task in self.tasks:
            task.coroutine.close()
        self.tasks.clear()
        self.begin()
        return orphans


__all__ = ["INSTALLATION", "Process", "Task", "act", "fold"]
