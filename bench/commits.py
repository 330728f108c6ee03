"""Commits a second, beside the same publishes by nats-py alone: same size, same headers, one in flight."""

from __future__ import annotations

import itertools
from typing import Any

from bench.figure import Figure, in_turns
from bench.ground import INSTALLATION, bare_client, ground, settings_of
from dispatch import identity
from dispatch.act import Hands, decide
from projections.evolve import empty, fold
from projections.record import Record
from streams import codec, subjects
from streams.jetstream.append import condition
from streams.jetstream.connect import JetStreamBus, connect
from streams.jetstream.layout import history_stream
from streams.messages.events import CallReplied
from streams.messages.values import ReplyOutcome

APPENDS = 50
ROUNDS = 60
EVENT = CallReplied(call=7, outcome=ReplyOutcome.DONE, detail="Submitted batch job 4243 on hpc2, two nodes of eight")


async def measure() -> Figure:
    """Our append, from the event to the record after it, against `js.publish` of its bytes."""
    async with ground() as node, bare_client(node) as client:
        bus = await connect(settings_of(node))
        hands, jobs = _hands(bus), itertools.count()
        data = await _event_bytes(hands, bus)
        stream = client.jetstream()

        async def ours() -> None:
            record: Record = empty("nlp", f"ours-{next(jobs)}")
            for _ in range(APPENDS):
                record = await decide(hands, record, EVENT, None)

        async def bare() -> None:
            subject, expected = subjects.job("nlp", f"bare-{next(jobs)}"), 0
            for _ in range(APPENDS):
                headers = condition(history_stream(1), expected)
                expected = (await stream.publish(subject, data, headers=headers)).seq

        turns = await in_turns(ROUNDS, ours, bare)
        await bus.close()
    return Figure(
        name="commits",
        what="commits a second ÷ conditional publishes a second of nats-py alone",
        value=1 / turns.ratio,
        bar=0.9,
        parts={
            "commits_per_s": APPENDS / turns.ours_s,
            "publishes_per_s": APPENDS / turns.bare_s,
            "event_bytes": len(data),
        },
    )


def _hands(bus: JetStreamBus) -> Hands:
    def nothing(*_: Any) -> Any:  # noqa: ANN401 - no pass is run, so none of these is called
        raise AssertionError("an append calls nobody")

    return Hands(
        history=bus.history,
        adapter_of=nothing,
        clock=identity.now,
        new_id=identity.new_event_id,
        by="replica:sv-bench-1",
        installation=INSTALLATION,
        spawn=nothing,
        wake=nothing,
        publish=nothing,
    )


async def _event_bytes(hands: Hands, bus: JetStreamBus) -> bytes:
    """The bytes of one such event, as it was stored."""
    record = await decide(hands, empty("nlp", "model"), EVENT, None)
    entry = (await bus.history.read("nlp", "model"))[0]
    assert fold(empty("nlp", "model"), (entry,)).revision == record.revision
    assert not hasattr(entry.content, "why")
    return codec.encode_event(entry.content)  # type: ignore[arg-type]  # an envelope, as was just checked
