"""A thousand short jobs through two replicas, one of which is killed and replaced every few seconds."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import signal
from collections.abc import AsyncIterator

import msgspec
import pytest

from dispatch.supervise import SuperviseOptions
from dispatch.up import program
from projections.evolve import empty, fold
from projections.record import Record
from projections.verify import verify
from streams.messages.events import Entry, Envelope, JobSettled
from streams.messages.plan import RecoveryPlan
from streams.messages.values import Outcome
from streams.ports import Caught
from tests.integration.promises.ground import TENANT, Ground

JOBS = 1000
KILL_EVERY = 40  # settled jobs: every few seconds, and never so often that nothing can be done in between
ONCE = RecoveryPlan()


class Supervisors:
    """Supervisor processes by number; each may be killed, and is then replaced by one with a new name."""

    def __init__(self, here: Ground) -> None:
        self._here = here
        self._names = (f"sv-{number}" for number in itertools.count(1))
        self.running: list[asyncio.subprocess.Process] = []
        self.killed = 0

    async def start(self) -> None:
        options = SuperviseOptions(
            nats=(self._here.node.url,),
            monitoring=(self._here.node.monitoring_url,),
            single=True,
            name=next(self._names),
            local=str(self._here.directory / "local"),
            heartbeat_s=0.5,
            sweep_s=20.0,
        )
        path = self._here.directory / f"{options.name}.json"
        path.write_bytes(msgspec.json.encode(options))
        with path.with_suffix(".log").open("ab") as log:
            self.running.append(await asyncio.create_subprocess_exec(*program(path), stdout=log, stderr=log))

    async def kill_one(self) -> None:
        victim = self.running.pop(random.randrange(len(self.running)))
        victim.send_signal(signal.SIGKILL)
        await victim.wait()
        self.killed += 1
        await self.start()

    async def stop(self) -> None:
        for process in self.running:
            process.terminate()
        for process in self.running:
            assert await process.wait() == 0


@contextlib.asynccontextmanager
async def supervisors(here: Ground) -> AsyncIterator[Supervisors]:
    made = Supervisors(here)
    for _ in range(2):
        await made.start()

    try:
        yield made
    finally:
        await made.stop()


async def until_settled(here: Ground, count: int, made: Supervisors) -> dict[str, list[Entry]]:
    """Every job's history, once so many jobs are settled; a supervisor is killed each time some more are."""
    histories: dict[str, list[Entry]] = {}
    settled = 0
    async for entry in here.bus.history.follow():
        if isinstance(entry, Caught):
            continue
        histories.setdefault(entry.job, []).append(entry)
        if not isinstance(entry.content, Envelope) or not isinstance(entry.content.event, JobSettled):
            continue
        settled += 1
        if settled == count:
            return histories
        if settled % KILL_EVERY == 0:
            await made.kill_one()
    raise AssertionError("the history ended")


@pytest.mark.timeout(900)
async def test_a_thousand_short_jobs_all_settle_while_supervisors_are_killed(here: Ground) -> None:
    here.adapter()
    async with supervisors(here) as made:
        for number in range(JOBS):
            await here.bus.commands.publish(here.submit(f"j-{number}"), actor="ana")
        async with asyncio.timeout(800):
            histories = await until_settled(here, JOBS, made)
    assert made.killed == JOBS // KILL_EVERY - 1
    broken = {job: verdict.broken for job, entries in histories.items() if (verdict := verify(entries)).broken}
    assert not broken, dict(itertools.islice(broken.items(), 3))
    records = [_record(job, entries) for job, entries in histories.items() if job.startswith("j-")]
    assert len(records) == JOBS
    assert {r.outcome.outcome if r.outcome else None for r in records} == {Outcome.SUCCEEDED}
    assert [job for job in histories if here.ran(job) != [1_000_000]] == []


def _record(job: str, entries: list[Entry]) -> Record:
    return fold(empty(TENANT, job), entries)
