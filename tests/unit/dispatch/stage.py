"""A supervisor stopped at any await: passes and calls driven by hand, without an event loop.

Every use of a port has two awaits, before and after its effect, so that a crash can leave it undone, or done and
untold. `Stage(crash_at=7)` dies at the seventh; another supervisor then begins from nothing and carries on.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from datetime import timedelta
from typing import Any, TypeVar

from adapters.simulated.adapter import KubeflowAdapter, SlurmAdapter
from adapters.simulated.kubeflow import KubeflowCluster, KubeflowPace, KubeflowSettings
from adapters.simulated.slurm import SlurmCluster, SlurmPace, SlurmSettings
from dispatch.act import Asked, Hands
from dispatch.act import decide as append
from dispatch.decide import Decided, Facts, decide
from dispatch.supervisor import Pass, run_pass
from projections.controls import Controls
from projections.evolve import empty, fold
from projections.record import Record
from projections.verify import verify
from streams.errors import UndecidedError
from streams.memory import MemoryBus
from streams.messages.commands import Command
from streams.messages.events import Entry, Envelope
from streams.messages.values import ObjectRef
from streams.ports import Caught, Stored
from tests.driver import BEGIN, CLUSTER, INSTALLATION

T = TypeVar("T")
PASSES_MAX = 400


class Pause:
    """An await at which whoever drives the coroutine has the say."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __await__(self) -> Generator[str, None, None]:
        yield self.label


class Crashed(Exception):  # noqa: N818  # it is what happens to the supervisor, not an error of ours
    """The supervisor died here."""


class PausingHistory:
    """A history whose every use pauses before and after; `undecided_at` names the append that nobody confirms."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._inner = stage.bus.history

    async def read(self, tenant: str, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        return await self._stage.pausing("read", lambda: self._inner.read(tenant, job, after=after))

    async def last_revision(self, tenant: str, job: str) -> int:
        return await self._stage.pausing("last revision", lambda: self._inner.last_revision(tenant, job))

    async def append(self, envelope: Envelope) -> int:
        self._stage.appends += 1
        undecided = self._stage.appends == self._stage.undecided_at
        if undecided and not self._stage.undecided_stored:
            raise UndecidedError(envelope.job, envelope.id)
        label = f"append {type(envelope.event).__name__}"
        revision = await self._stage.pausing(label, lambda: self._inner.append(envelope))
        if undecided:
            raise UndecidedError(envelope.job, envelope.id)
        return revision

    def follow(self, *, after: int = 0, tenant: str | None = None) -> AsyncIterator[Entry | Caught]:
        return self._inner.follow(after=after, tenant=tenant)

    def stored(self, *, after: int = 0, tenant: str | None = None) -> AsyncIterator[Stored]:
        return self._inner.stored(after=after, tenant=tenant)


class PausingWay:
    """A way to the scheduler that pauses before and after every request."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def carry(self, request: Any) -> Any:
        async def there() -> Any:
            request.arrive()
            return request.land()

        return await self._stage.pausing(request.verb, there)


class Stage:
    """One job on one simulated cluster; its supervisor dies at most once."""

    def __init__(
        self,
        settings: SlurmSettings | KubeflowSettings | None = None,
        *,
        crash_at: int = 0,
        undecided_at: int = 0,
        undecided_stored: bool = False,
    ) -> None:
        self.at = BEGIN
        self.crash_at, self.undecided_at, self.undecided_stored = crash_at, undecided_at, undecided_stored
        self.pauses = self.appends = self.lives = 0
        self.labels: list[str] = []
        self.most_alive = 0
        self.bus = MemoryBus()
        self.controls = Controls()
        self.record: Record = empty("nlp", "llama")
        self.last: Pass | None = None
        self._ids = itertools.count(1)
        self._calls: list[Coroutine[Any, Any, None]] = []
        settings = settings or SlurmSettings()
        self.cluster: SlurmCluster | KubeflowCluster
        self.adapter: SlurmAdapter | KubeflowAdapter
        if isinstance(settings, SlurmSettings):
            pace = SlurmPace(queue_s=0.1, stop_s=0.1, row_s=0.1)
            self.cluster = SlurmCluster(name=CLUSTER, clock=self.now, settings=settings, pace=pace)
            self.adapter = SlurmAdapter(self.cluster, PausingWay(self))
        else:
            self.cluster = KubeflowCluster(
                name=CLUSTER, clock=self.now, settings=settings, pace=KubeflowPace(stop_s=0.1)
            )
            self.adapter = KubeflowAdapter(self.cluster, PausingWay(self))
        self.hands = self.new_hands()

    def now(self) -> Any:
        return self.at

    def new_hands(self) -> Hands:
        """Hands of a replica that has just started."""
        self.lives += 1
        return Hands(
            history=PausingHistory(self),
            adapter_of=lambda cluster: self.adapter if cluster == CLUSTER else None,
            clock=self.now,
            new_id=lambda: f"{next(self._ids):026d}",
            by=f"replica:sv-{self.lives}",
            installation=INSTALLATION,
            spawn=self._calls.append,
            wake=self._wake,
            publish=self._publish,
        )

    async def _wake(self, tenant: str, job: str) -> None:
        await Pause(f"wake {tenant}.{job}")

    async def _publish(self, record: Record) -> None:
        await Pause(f"publish r{record.revision}")

    async def pausing(self, label: str, use: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The use of a port, with a pause on either side of its effect."""
        await Pause(label)
        answer = await use()
        await Pause(f"{label} answered")
        return answer

    # driving

    def drive(self, work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result; raises Crashed at the await whose turn it is."""
        try:
            while True:
                self.labels.append(work.send(None))
                self.pauses += 1
                if self.pauses == self.crash_at:
                    work.close()
                    raise Crashed(self.labels[-1])
        except StopIteration as done:
            result: T = done.value
            return result

    def look(self) -> Pass | None:
        """One pass, and every call it sent; None if the supervisor died, and then another has taken its place."""
        try:
            self.last = self.drive(run_pass(self.hands, self.record, self.controls))
            self.record = self.last.record
            while self._calls:
                self.drive(self._calls.pop(0))
        except Crashed:
            for call in self._calls:
                call.close()
            self._calls.clear()
            self.record = empty("nlp", "llama")
            self.hands = self.new_hands()
            return None
        except UndecidedError:
            self.record = empty("nlp", "llama")
            return None
        return self.last

    def order(self, command: Command) -> None:
        """A command decided and appended by a replica that does not die."""
        record = fold(empty("nlp", "llama"), self.entries())
        able = self.quietly(self.adapter.capabilities())
        answered = decide(record, command, Facts(now=self.at, capabilities=able, actor="ana"))
        assert isinstance(answered, Decided), answered
        asked = Asked(command.command, "ana", None, None, command.at)
        hands = Hands(
            history=self.bus.history,
            adapter_of=self.hands.adapter_of,
            clock=self.now,
            new_id=self.hands.new_id,
            by="replica:sv-c",
            installation=INSTALLATION,
            spawn=self._calls.append,
            wake=self._wake,
            publish=self._publish,
        )
        self.quietly(append(hands, record, answered.event, answered.reason, asked))

    @staticmethod
    def quietly(work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result, none of its pauses counted."""
        try:
            while True:
                work.send(None)
        except StopIteration as done:
            result: T = done.value
            return result

    def pass_time(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.cluster.advance()
        alive = {(run.object, run.run) for run in self.cluster.truth.living}
        self.most_alive = max(self.most_alive, len(alive))

    def until(self, met: Callable[[Stage], object], step_s: float = 5.0) -> None:
        """Passes, with time between them, until the condition is met."""
        for _ in range(PASSES_MAX):
            done = self.look()
            if met(self):
                return
            due = done.due_at if done is not None and done.due_at is not None else self.at
            self.pass_time(min(step_s, max(0.1, (due - self.at).total_seconds())))
        raise AssertionError(f"never met in {PASSES_MAX} passes: {[type(e.event).__name__ for e in self.envelopes()]}")

    # what is there

    def entries(self) -> tuple[Entry, ...]:
        return self.quietly(self.bus.history.read("nlp", "llama"))

    def envelopes(self) -> list[Envelope]:
        return [e.content for e in self.entries() if isinstance(e.content, Envelope)]

    def broken(self) -> list[str]:
        """What the laws find wrong with the history."""
        return [f"{breach.law} #{breach.number} {breach.sentence}" for breach in verify(self.entries()).broken]

    def objects(self) -> list[ObjectRef]:
        return [job.ref for job in self.cluster.jobs]
