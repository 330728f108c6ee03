"""`dispatch list` of ten thousand jobs, beside a program that reads the bucket and does nothing else."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import nats

from bench.figure import Figure, in_turns
from bench.ground import ground, put_all
from bench.histories import AT, TENANT, entry_of, histories, name_of, open_history
from projections import fleet
from projections.evolve import empty, fold
from projections.fleet import FleetEntry
from projections.fleet import entry_of as told
from projections.status import Around
from streams.jetstream.layout import status_keys, status_stream

JOBS = 10_000
ROUNDS = 3
DISPATCH = str(Path(sys.executable).with_name("dispatch"))


async def measure(jobs: int = JOBS) -> Figure:
    """Both are whole programs, start-up included; the bare one is nats-py's own watch of a bucket."""
    async with ground(sync="1m") as node:
        entries = await _entries(jobs)
        await put_all(node, ((f"{status_keys(1)}.{each.key}", fleet.encode(each)) for each in entries))

        async def ours() -> None:
            said = await _run(DISPATCH, "list", "--limit", "0", "--nats", node.url, "--tenant", TENANT)
            assert said.count(b"job-") == jobs, f"{said.count(b'job-')} jobs were listed"

        async def bare() -> None:
            said = await _run(sys.executable, "-m", "bench.listing", node.url)
            assert int(said) == jobs, f"{said!r} jobs were read"

        turns = await in_turns(ROUNDS, ours, bare)
    return Figure(
        name="list",
        what=f"dispatch list of {jobs:,} jobs ÷ a bare read of the bucket, each a program of its own",
        value=1 / turns.ratio,
        bar=0.5,
        parts={"jobs": jobs, "list_s": turns.ours_s, "bare_s": turns.bare_s},
    )


async def _entries(jobs: int) -> list[FleetEntry]:
    """What a replica would have told of each job."""
    model = await open_history()
    stored = list(histories(model, jobs))
    around = Around(now=AT)
    return [
        told(fold(empty(TENANT, name_of(number)), map(entry_of, stored[at : at + len(model)])), around)
        for number, at in enumerate(range(0, len(stored), len(model)))
    ]


async def _run(*words: str) -> bytes:
    child = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
    said, _ = await child.communicate()
    assert child.returncode == 0, f"{words[0]} ended with {child.returncode}"
    return said


async def _read(url: str) -> int:
    """How many keys the bucket holds, by reading them all with their values."""
    client = await nats.connect(url)
    bucket = await client.jetstream().key_value(status_stream(1).removeprefix("KV_"))
    watching, keys = await bucket.watchall(), 0
    while await watching.updates() is not None:  # type: ignore[no-untyped-call]
        keys += 1
    await watching.stop()  # type: ignore[no-untyped-call]
    await client.close()
    return keys


if __name__ == "__main__":
    sys.stdout.write(str(asyncio.run(_read(sys.argv[1]))))
