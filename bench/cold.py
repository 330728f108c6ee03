"""A replica's cold start: reading every open job's history, beside a bare ordered consumer over the same stream."""

from __future__ import annotations

import asyncio

from nats.aio.msg import Msg

from bench.figure import Figure, in_turns
from bench.ground import bare_client, ground, put_all, settings_of
from bench.histories import histories, open_history
from dispatch.replica.follower import OpenJobs, begin, follow
from streams import subjects
from streams.jetstream.connect import connect
from streams.jetstream.layout import history_stream
from streams.messages.events import Entry

JOBS = 10_000
ROUNDS = 5


async def measure(jobs: int = JOBS) -> Figure:
    """From the first event to the moment when every open job's name is known, no checkpoint to begin from."""
    model = await open_history()
    total = jobs * len(model)
    async with ground(sync="1m") as node, bare_client(node) as client:
        await put_all(node, ((stored.subject, stored.data) for stored in histories(model, jobs)))
        bus = await connect(settings_of(node))

        async def ours() -> None:
            known = OpenJobs()
            await begin(known, bus.buckets)
            following = asyncio.create_task(follow(bus.history, known, _unseen))
            await known.complete.wait()
            following.cancel()
            assert len(known.open) == jobs, f"{len(known.open)} of {jobs} jobs"

        async def bare() -> None:
            read, done = 0, asyncio.Event()

            async def count(_: Msg) -> None:
                nonlocal read
                read += 1
                if read == total:
                    done.set()

            subscription = await client.jetstream().subscribe(
                subjects.jobs(), stream=history_stream(1), ordered_consumer=True, cb=count
            )
            await done.wait()
            await subscription.unsubscribe()

        turns = await in_turns(ROUNDS, ours, bare)
        await bus.close()
    return Figure(
        name="cold start",
        what=f"reading {jobs:,} open jobs at cold start ÷ a bare ordered consumer over the same stream",
        value=1 / turns.ratio,
        bar=0.5,
        parts={
            "jobs": jobs,
            "events": total,
            "events_per_s": total / turns.ours_s,
            "bare_events_per_s": total / turns.bare_s,
        },
    )


async def _unseen(_: Entry) -> None:
    """Nobody else wants to see the entries."""
