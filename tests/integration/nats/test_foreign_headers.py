"""Headers and subjects that no client of ours would write: the message is answered, and the queue behind it goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from dispatch.client import Accepted
from streams import codec, subjects
from streams.jetstream.layout import WAKE, history_stream
from streams.jetstream.wire import answer_of
from streams.messages.commands import SubmitJob
from streams.messages.events import Quarantined
from streams.messages.plan import RecoveryPlan
from streams.messages.receipts import Answer
from streams.messages.spec import JobSpec, Run
from tests.conformance.streams_world import JetStreamWorld, take_until, until
from tests.integration.nats.test_bad_input import SUBMIT, Stand, body, standing, waiting_in

STATUSES = ("404", "408", "409", "503", "100", "204", "nonsense")
BROKEN = {
    "bytes that are no text for a status": b"NATS/1.0 \xff\xff\xff\r\n\r\n",
    "a version and no more": b"NATS/1.0",
    "a line and no end": b"NATS/1.0\r\n",
    "a status as a server writes it": b"NATS/1.0 404 No Messages\r\n\r\n",
    "no responders": b"NATS/1.0 503\r\n\r\n",
    "a name that is no text": b"NATS/1.0\r\n\xff: a\r\nStatus: 404\r\n\r\n",
    "a description that is no text": b"NATS/1.0 404 \xff\xfe\r\nA: \xff\r\n\r\n",
    "no version": b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
}
SUBJECTS = (b"\xff", b"llama\x0b7", b"llama\x0c", b"\xc3\x28", b"a\x1cb")


@pytest.fixture
async def stand(world: JetStreamWorld) -> AsyncIterator[Stand]:
    async with standing(world) as stand:
        yield stand


def submit(command: str) -> bytes:
    spec = JobSpec(cluster="sim", run=Run(command=("sleep", "0.2")))
    return codec.encode_command(
        SubmitJob(command=command, tenant="nlp", job="llama", at=datetime.now(UTC), spec=spec, plan=RecoveryPlan())
    )


class Raw:
    """A connection on which each byte is one's own."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def publish(self, subject: bytes, headers: bytes, data: bytes) -> None:
        """Publish, and wait until the server has taken it. AssertionError if it does not."""
        size = len(headers) + len(data)
        self._writer.write(b"HPUB %s %d %d\r\n%s%s\r\nPING\r\n" % (subject, len(headers), size, headers, data))
        await self._writer.drain()
        while (line := await self._reader.readline()) != b"PONG\r\n":
            assert line.startswith((b"INFO", b"PING")), line


@asynccontextmanager
async def raw_client(port: int) -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    options = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "protocol": 1}
    writer.write(b"CONNECT %s\r\n" % json.dumps(options).encode())
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()


@pytest.mark.parametrize("status", STATUSES)
async def test_a_command_that_says_a_status_in_its_headers_is_decided_and_so_is_the_next_of_its_shard(
    stand: Stand, status: str
) -> None:
    await stand.bus.wire.client.publish(SUBMIT, submit("c-1"), headers={"Status": status})
    assert (await stand.receipt("c-1")).answer is Answer.ACCEPTED
    await stand.bus.wire.client.publish(SUBMIT, b"no command", headers={"Status": status})
    await stand.bus.wire.client.publish(subjects.wake("nlp", "llama"), b"", headers={"Status": status})
    assert isinstance(await stand.client.cancel("llama"), Accepted)
    await stand.all_answered()
    await until(lambda: waiting_in(stand, WAKE), lambda waiting: waiting == 0)


@pytest.mark.parametrize("status", STATUSES)
async def test_a_status_in_the_headers_of_what_is_stored_hides_nothing_of_a_history(
    world: JetStreamWorld, status: str
) -> None:
    bus = await world.connect()
    wire = bus.wire  # type: ignore[attr-defined]  # a bus of JetStream
    headers = {"Nats-Expected-Stream": history_stream(1), "Status": status}
    revisions = [
        int(answer_of(await wire.ask(subjects.job("nlp", "llama"), data, headers=headers))["seq"])
        for data in (b"one", b"two", b"")
    ]
    read = await bus.history.read("nlp", "llama")
    followed = await take_until(bus.history.follow(), lambda taken: taken[-1].revision == revisions[-1])
    assert [entry.revision for entry in read] == revisions
    assert [item.revision for item in followed if hasattr(item, "content")] == revisions
    assert all(isinstance(entry.content, Quarantined) for entry in read)


@pytest.mark.parametrize("what", BROKEN)
async def test_a_header_block_that_is_none_costs_nobody_a_connection_and_the_command_is_decided(
    stand: Stand, what: str
) -> None:
    async with raw_client(stand.world.node.port) as raw:  # type: ignore[attr-defined]  # a server of its own
        await raw.publish(SUBMIT.encode(), BROKEN[what], submit("c-1"))
    assert (await stand.receipt("c-1")).answer is Answer.ACCEPTED
    assert isinstance(await stand.client.cancel("llama"), Accepted)
    await stand.all_answered()
    assert stand.served.reconnects == 0


async def test_a_subject_that_is_no_text_or_holds_white_space_costs_nobody_a_connection(stand: Stand) -> None:
    async with raw_client(stand.world.node.port) as raw:  # type: ignore[attr-defined]  # a server of its own
        for token in SUBJECTS:
            await raw.publish(b"dispatch.command.nlp.ana.submit." + token, b"NATS/1.0\r\n\r\n", body())
            await raw.publish(b"dispatch.wake.nlp." + token, b"NATS/1.0\r\n\r\n", b"")
        await raw.publish(SUBMIT.encode(), b"NATS/1.0\r\n\r\n", submit("c-1"))
    assert (await stand.receipt("c-1")).answer is Answer.ACCEPTED
    await stand.runs_a_job("bert")
    await stand.all_answered()
    await until(lambda: waiting_in(stand, WAKE), lambda waiting: waiting == 0)
    assert stand.served.reconnects == 0
