"""The simulated schedulers keep what every adapter keeps, in each of their shapes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest

from adapters.errors import AdapterError, OutcomeUnknownError, UnreachableError
from adapters.simulated.adapter import KubeflowAdapter, SlurmAdapter
from adapters.simulated.host import Request
from adapters.simulated.kubeflow import KubeflowCluster, KubeflowPace, KubeflowSettings
from adapters.simulated.slurm import SlurmCluster, SlurmPace, SlurmSettings
from streams.messages.calls import JobName
from streams.messages.spec import JobSpec, Run
from tests.conformance.scheduler_capabilities import (
    CessationSuite,
    HoldSuite,
    InspectSuite,
    RequeueSuite,
    WatchSuite,
)
from tests.conformance.scheduler_suite import RequiredSuite
from tests.conformance.scheduler_world import Behaviour, Execution, World

T = TypeVar("T")

PROGRAMS = {
    Behaviour.COMPLETES: ("sh", "-c", "sleep 0.05; exit 0"),
    Behaviour.EXITS_WITH_3: ("sh", "-c", "exit 3"),
    Behaviour.RUNS_ON: ("sleep", "3600"),
}


class CutChannel:
    """A way that can be cut: what was sent meanwhile arrives when it is mended."""

    def __init__(self) -> None:
        self.is_cut = False
        self.kept: list[Request[Any]] = []

    async def carry(self, request: Request[T]) -> T:
        if self.is_cut:
            if not request.writes:
                raise UnreachableError("no way to the host")
            self.kept.append(request)
            raise OutcomeUnknownError("no answer from the host")
        request.arrive()
        return request.land()


class SimulatedWorld(World):
    cluster = "sim"
    step_s = 0.5
    patience_s = 400.0

    def __init__(self, settings: SlurmSettings | KubeflowSettings) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)
        self.channel = CutChannel()
        self.scheduler: SlurmCluster | KubeflowCluster
        if isinstance(settings, SlurmSettings):
            pace = SlurmPace(queue_s=0.1, stop_s=0.1, row_s=0.1)
            self.scheduler = SlurmCluster(clock=self.now, settings=settings, pace=pace)
            self.adapter = SlurmAdapter(self.scheduler, self.channel, self.pause)
        else:
            self.scheduler = KubeflowCluster(clock=self.now, settings=settings, pace=KubeflowPace(stop_s=0.1))
            self.adapter = KubeflowAdapter(self.scheduler, self.channel, self.pause)

    def now(self) -> datetime:
        return self.at

    async def pause(self) -> None:
        await asyncio.sleep(0)

    def spec(self, behaviour: Behaviour, *, ranks: int = 1) -> JobSpec:
        return JobSpec(cluster=self.cluster, run=Run(command=PROGRAMS[behaviour]), ranks_per_node=ranks)

    async def pass_time(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.scheduler.advance()
        await asyncio.sleep(0)

    async def executions(self, name: JobName) -> list[Execution]:
        self.scheduler.advance()
        return [
            Execution(submission=run.tag.submission, run=run.run, alive=bool(run.alive))
            for run in self.scheduler.truth.executions
            if run.name == name and run.tag
        ]

    async def cut(self) -> None:
        self.channel.is_cut = True

    async def heal(self) -> None:
        self.channel.is_cut = False
        for request in self.channel.kept:
            try:
                request.arrive()
                request.land()
            except AdapterError:
                continue


class AllSuites(RequiredSuite, HoldSuite, RequeueSuite, CessationSuite, InspectSuite, WatchSuite): ...


class TestSlurmShape(AllSuites):
    @pytest.fixture
    def world(self) -> World:
        return SimulatedWorld(SlurmSettings(call_bound_s=5))


class TestSlurmShapeWithFencedCallsAndPlainRequeue(AllSuites):
    @pytest.fixture
    def world(self) -> World:
        return SimulatedWorld(SlurmSettings(call_bound_s=5, fenced_calls=True, incomplete=False))


class TestSlurmShapeWithTheHoldBesideTheGate(AllSuites):
    @pytest.fixture
    def world(self) -> World:
        return SimulatedWorld(SlurmSettings(call_bound_s=5, fenced_calls=True, incomplete=False, hold_beside_gate=True))


class TestKubeflowShape(AllSuites):
    @pytest.fixture
    def world(self) -> World:
        return SimulatedWorld(KubeflowSettings())


class TestKubeflowShapeWithoutPodFence(AllSuites):
    @pytest.fixture
    def world(self) -> World:
        return SimulatedWorld(KubeflowSettings(pod_fence=False))


class TestKueueShape(AllSuites):
    @pytest.fixture
    def world(self) -> World:
        return SimulatedWorld(KubeflowSettings(kueue=True))
