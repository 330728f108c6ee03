"""What the scheduler suite needs of a scheduler under test, and the calls it makes on it."""

from __future__ import annotations

import abc
import contextlib
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import TypeVar

from adapters.errors import AdapterError
from adapters.port import Adapter, Holds, ProvesCessation, Requeues
from streams.messages.calls import (
    HoldCall,
    JobName,
    OpenCall,
    ReleaseCall,
    RequeueCall,
    StartCall,
    StopCall,
    StopJobCall,
)
from streams.messages.spec import JobSpec
from streams.messages.values import CessationAnswer, Floor, Found, ObjectRef, Phase, Sighting, Tag

T = TypeVar("T")
SOON_S = 30.0


class Behaviour(Enum):
    """What the job's processes do. Every rank prints `rank <n> began` first."""

    COMPLETES = "completes"
    EXITS_WITH_3 = "exits with 3"
    RUNS_ON = "runs on until it gets TERM"


@dataclass(frozen=True, kw_only=True)
class Execution:
    """One run that began, as its own processes tell it: never read from the adapter's records."""

    submission: int
    run: int
    alive: bool


class World(abc.ABC):
    """One scheduler under test. `step_s` is how long to wait between looks, `patience_s` for how long at most.

    `calm_s` is long enough for something that should not happen to have happened.
    """

    adapter: Adapter
    cluster: str
    installation: str = "conformance"
    step_s: float = 0.02
    patience_s: float = 20.0
    calm_s: float = 0.3
    keeps_floor: bool = True

    @abc.abstractmethod
    def spec(self, behaviour: Behaviour, *, ranks: int = 1) -> JobSpec:
        """A job of this cluster that behaves so."""

    @abc.abstractmethod
    async def pass_time(self, seconds: float) -> None:
        """Let the scheduler host's clock go on by `seconds`."""

    @abc.abstractmethod
    async def executions(self, name: JobName) -> list[Execution]:
        """Every run of the job that ever began, by the processes' own marks."""

    @abc.abstractmethod
    async def cut(self) -> None:
        """From now on the scheduler answers nothing; calls already sent may land later."""

    @abc.abstractmethod
    async def heal(self) -> None:
        """It answers again."""


@dataclass
class Job:
    """One job's calls, numbered and paired as a supervisor would: each with the event that authorized it."""

    world: World
    name: JobName
    behaviour: Behaviour = Behaviour.RUNS_ON
    ranks: int = 1
    calls: int = 0
    pairs: list[Floor] = field(default_factory=list)

    def pair(self) -> Floor:
        """A new event of the job's history: the next revision, and an id never used before."""
        self.calls += 1
        revision = 100 + self.calls
        whole = f"{self.name.installation}/{self.name.tenant}/{self.name.job}/{revision}"
        self.pairs.append(Floor(revision=revision, nonce=hashlib.sha256(whole.encode()).hexdigest()[:26]))
        return self.pairs[-1]

    async def find(self) -> Found:
        return await self.world.adapter.find(self.name)

    async def deadline(self, within_s: float = SOON_S) -> datetime:
        """In the host's time: what the last Find said, and what may pass."""
        return (await self.find()).as_of + timedelta(seconds=within_s)

    async def start_call(self, submission: int = 1, attempt: int = 1, *, within_s: float = SOON_S) -> StartCall:
        deadline_at = await self.deadline(within_s)
        pair = self.pair()
        tag = Tag(
            installation=self.name.installation,
            tenant=self.name.tenant,
            job=self.name.job,
            submission=submission,
            attempt=attempt,
            revision=pair.revision,
            nonce=pair.nonce,
        )
        spec = self.world.spec(self.behaviour, ranks=self.ranks)
        return StartCall(name=self.name, call=self.calls, deadline_at=deadline_at, pair=pair, tag=tag, spec=spec)

    async def start(self, submission: int = 1, attempt: int = 1) -> ObjectRef:
        return await self.world.adapter.start(await self.start_call(submission, attempt))

    async def open_call(
        self, ref: ObjectRef, run: int | None = None, *, submission: int = 1, within_s: float = SOON_S
    ) -> OpenCall:
        deadline_at = await self.deadline(within_s)
        if run is None:
            run = (await self.world.adapter.capabilities()).first_run
        return OpenCall(
            name=self.name,
            call=self.calls + 1,
            deadline_at=deadline_at,
            pair=self.pair(),
            object=ref,
            run=run,
            submission=submission,
        )

    async def open(self, ref: ObjectRef, run: int | None = None, *, submission: int = 1) -> None:
        await self.world.adapter.open(await self.open_call(ref, run, submission=submission))

    async def stop(self, ref: ObjectRef, *, within_s: float = SOON_S) -> None:
        deadline_at = await self.deadline(within_s)
        call = StopCall(name=self.name, call=self.calls + 1, deadline_at=deadline_at, pair=self.pair(), object=ref)
        await self.world.adapter.stop(call)

    async def stop_job(self, *spare: ObjectRef, within_s: float = SOON_S) -> None:
        deadline_at = await self.deadline(within_s)
        call = StopJobCall(name=self.name, call=self.calls + 1, deadline_at=deadline_at, pair=self.pair(), spare=spare)
        await self.world.adapter.stop_job(call)

    async def hold(self, ref: ObjectRef, *, within_s: float = SOON_S) -> None:
        assert isinstance(self.world.adapter, Holds)
        deadline_at = await self.deadline(within_s)
        await self.world.adapter.hold(
            HoldCall(
                name=self.name,
                call=self.calls + 1,
                deadline_at=deadline_at,
                pair=self.pair(),
                object=ref,
                instances=("hold-1",),
            )
        )

    async def release(self, ref: ObjectRef, run: int | None = None, *, within_s: float = SOON_S) -> None:
        assert isinstance(self.world.adapter, Holds)
        deadline_at = await self.deadline(within_s)
        await self.world.adapter.release(
            ReleaseCall(
                name=self.name,
                call=self.calls + 1,
                deadline_at=deadline_at,
                pair=self.pair(),
                object=ref,
                instances=("hold-1",),
                run=run,
            )
        )

    async def requeue(self, ref: ObjectRef, run: int, *, within_s: float = SOON_S) -> None:
        assert isinstance(self.world.adapter, Requeues)
        deadline_at = await self.deadline(within_s)
        await self.world.adapter.requeue(
            RequeueCall(
                name=self.name, call=self.calls + 1, deadline_at=deadline_at, pair=self.pair(), object=ref, run=run
            )
        )

    async def answer(self, ref: ObjectRef, run: int) -> CessationAnswer:
        assert isinstance(self.world.adapter, ProvesCessation)
        return (await self.world.adapter.ceased(self.name, ref, run)).answer

    async def see(self, ref: ObjectRef) -> Sighting:
        """The one sighting of this object; AssertionError if Find shows none or two."""
        [sighting] = [s for s in (await self.find()).sightings if s.object == ref]
        return sighting

    async def reaches(self, ref: ObjectRef, *phases: Phase, run: int | None = None) -> Sighting:
        """Wait until the object is in one of these phases (of that run); its sighting."""

        async def there() -> Sighting | None:
            sighting = await self.see(ref)
            return sighting if sighting.phase in phases and run in (None, sighting.run) else None

        return await eventually(self.world, there, f"{self.name.job} reaches {', '.join(phases)}")

    async def executions(self) -> list[Execution]:
        return await self.world.executions(self.name)

    async def begins(self, count: int) -> list[Execution]:
        """Wait until that many executions have begun."""

        async def there() -> list[Execution] | None:
            begun = await self.executions()
            return begun if len(begun) >= count else None

        return await eventually(self.world, there, f"{count} executions of {self.name.job} begin")

    async def alive(self) -> int:
        return sum(execution.alive for execution in await self.executions())


async def eventually(world: World, probe: Callable[[], Awaitable[T | None]], what: str) -> T:
    """What `probe` gives once it gives something; AssertionError after the world's patience."""
    waited_s = 0.0
    while (value := await probe()) is None:
        assert waited_s < world.patience_s, f"not within {world.patience_s:g} s: {what}"
        await world.pass_time(world.step_s)
        waited_s += world.step_s
    return value


def job_of(
    world: World, job: str = "llama", *, tenant: str = "nlp", behaviour: Behaviour = Behaviour.RUNS_ON, ranks: int = 1
) -> Job:
    name = JobName(installation=world.installation, tenant=tenant, job=job)
    return Job(world=world, name=name, behaviour=behaviour, ranks=ranks)


async def running(job: Job) -> ObjectRef:
    """One object of the job, started, opened, and its processes begun."""
    ref = await job.start()
    await job.open(ref)
    await job.reaches(ref, Phase.RUNNING)
    await job.begins(1)
    return ref


async def is_over(job: Job, ref: ObjectRef) -> tuple[Sighting, ...]:
    """Wait until the object is seen ended, or no more; its sighting, if any."""

    async def over() -> tuple[Sighting, ...] | None:
        seen = tuple(s for s in (await job.find()).sightings if s.object == ref)
        return seen if all(s.phase is Phase.ENDED for s in seen) else None

    return await eventually(job.world, over, "the object is over")


async def fails_or_does_nothing(call: Awaitable[None]) -> None:
    """A call whose effect is judged by what follows, not by its answer."""
    with contextlib.suppress(AdapterError):
        await call
