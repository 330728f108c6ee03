"""What one open job costs a replica in memory: its fold, its names, what was last told of it."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import datetime

import msgspec
import psutil

from bench.figure import Figure
from bench.histories import AT, TENANT, entry_of, histories, name_of, open_history
from dispatch.act import Hands
from dispatch.replica.follower import OpenJobs
from dispatch.replica.passes import Records
from dispatch.replica.telling import Teller
from dispatch.supervisor import Pass, Result
from projections.controls import Controls
from projections.evolve import empty, fold
from streams.memory import MemoryBus
from streams.messages.receipts import Receipt
from streams.ports import StatusEntry, Stored

JOBS = 10_000
WARM = 200


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Resident bytes of a process before and after it took the jobs, and how many it took."""

    jobs: int
    before: int
    after: int


class Nowhere:
    """Buckets that keep nothing, so that only what the replica keeps is weighed."""

    async def put_receipt(self, receipt: Receipt) -> None:
        """Gone."""

    async def get_receipt(self, tenant: str, command: str) -> Receipt | None:
        return None

    async def put_status(self, key: str, data: bytes, *, expected: int | None) -> int:
        return 1 + (expected or 0)

    async def get_status(self, key: str) -> StatusEntry | None:
        return None

    async def list_status(self, *, tenant: str | None = None) -> AsyncIterator[StatusEntry]:
        none: tuple[StatusEntry, ...] = ()
        for entry in none:
            yield entry

    async def beat(self, replica: str, data: bytes, *, ttl_s: float) -> None:
        """Unheard."""

    async def leave(self, replica: str) -> None:
        """Unheard."""

    async def silent_replicas(self) -> dict[str, bytes]:
        return {}

    async def replicas(self) -> dict[str, bytes]:
        return {}


async def measure(jobs: int = JOBS) -> Figure:
    """Weighed in a process of its own, which has taken and kept some jobs before it is weighed first."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.memory", str(jobs), stdout=subprocess.PIPE
    )
    said, _ = await child.communicate()
    assert child.returncode == 0, f"the weighed process ended with {child.returncode}"
    held = msgspec.json.decode(said, type=Held)
    return Figure(
        name="memory",
        what=f"memory of a replica per open job, {jobs:,} of them held",
        value=(held.after - held.before) / held.jobs / 1024,
        unit="KiB",
        bar=10.0,
        less_is_better=True,
        parts={"jobs": held.jobs, "resident_mib": held.after / 2**20},
    )


class Keeper:
    """What a replica keeps of open jobs, in the replica's own caches."""

    def __init__(self) -> None:
        self.open_jobs = OpenJobs()
        self.records = Records(JOBS * 2)
        self.teller = Teller(Nowhere(), _hands(), lambda cluster: None)

    async def take(self, history: list[Stored], number: int) -> None:
        """One job as the follower, a pass and its telling leave it."""
        entries = [entry_of(stored) for stored in history]
        for entry in entries:
            self.open_jobs.apply(entry)
        record = fold(empty(TENANT, name_of(number)), entries)
        self.records.keep(record)
        await self.teller.tell(Pass(Result.QUIET, record), Controls())


def _hands() -> Hands:
    def now() -> datetime:
        return AT

    def nothing(*_: object) -> None:
        raise AssertionError("a record that is kept calls nobody")

    return Hands(
        history=MemoryBus().history,
        adapter_of=lambda cluster: None,
        clock=now,
        new_id=lambda: "0" * 26,
        by="replica:sv-bench-1",
        installation="inst",
        spawn=nothing,
        wake=nothing,  # type: ignore[arg-type]  # never called
        publish=nothing,  # type: ignore[arg-type]  # never called
    )


async def _weigh(jobs: int) -> Held:
    model = await open_history()
    keeper, me, before = Keeper(), psutil.Process(), 0
    history: list[Stored] = []
    number = 0
    for stored in histories(model, jobs + WARM):
        history.append(stored)
        if len(history) == len(model):
            await keeper.take(history, number)
            history, number = [], number + 1
            if number == WARM:
                gc.collect()
                before = me.memory_info().rss
    gc.collect()
    return Held(jobs=jobs, before=before, after=me.memory_info().rss)


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(_weigh(int(sys.argv[1])))))
