"""What a server sends is read whole, however it is cut and whatever its senders wrote in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from nats.aio.msg import Msg
from nats.errors import ProtocolError

from streams.jetstream.connection import Connection, MessageParser

SENT = (
    b"MSG a.b 1 3\r\nabc\r\n"
    b"PING\r\n"
    b"MSG a.b 1 _INBOX.x 0\r\n\r\n"
    b"PONG\r\n"
    b"HMSG a.\x0b7 12 $JS.ACK.x 18 22\r\nNATS/1.0\r\nA: 1\r\n\r\n\r\n\r\n\r\n"
    b"MSG a.\xff 1 _INBOX.\xfe 17\r\nMSG a 1 3\r\nPING\r\n\r\n"
    b"PING\r\n"
)
READ = [
    (1, b"a.b", b"", b"abc", None),
    "ping",
    (1, b"a.b", b"_INBOX.x", b"", None),
    "pong",
    (12, b"a.\x0b7", b"$JS.ACK.x", b"\r\n\r\n", b"NATS/1.0\r\nA: 1\r\n\r\n"),
    (1, b"a.\xff", b"_INBOX.\xfe", b"MSG a 1 3\r\nPING\r\n", None),
    "ping",
]


class Reading(Connection):
    """What was read, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[object] = []
        self.parser = MessageParser(self)
        self.on_ping: Callable[[], Awaitable[None]] | None = None

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes | None) -> None:
        self.read.append((sid, subject, reply, data, headers))

    async def _process_ping(self) -> None:
        self.read.append("ping")
        if self.on_ping is not None:
            await self.on_ping()

    async def _process_pong(self) -> None:
        self.read.append("pong")


class Receiving(Connection):
    """One message as a subscription gets it."""

    async def receive(self, subject: bytes, headers: bytes | None) -> Msg:
        return self._build_message(1, subject, b"", b"data", await self._process_headers(headers))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20, 1000])
async def test_messages_are_read_whole_however_they_arrive(size: int) -> None:
    reading = Reading()
    for begin in range(0, len(SENT), size):
        await reading.parser.parse(SENT[begin : begin + size])
    assert reading.read == READ


@pytest.mark.parametrize(
    "line", [b"MSG a 1\r\n", b"MSG a x 3\r\n", b"HMSG a 1 9 3\r\n", b"WHAT\r\n", b"X" * 5000 + b"\r\n"]
)
async def test_a_line_that_no_server_writes_ends_the_connection_and_not_its_reader(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        await Reading().parser.parse(line)


async def test_a_line_that_ends_a_connection_takes_nothing_of_the_next_with_it() -> None:
    reading = Reading()
    before = b"MSG a.b 1 3\r\nabc\r\n"

    async def lost() -> None:
        reading.parser.reset()
        await reading.parser.parse(b"MSG a.b 2 300\r\nabc")

    reading.on_ping = lost
    await reading.parser.parse(before + b"PING\r\n" + before)
    await reading.parser.parse(b"x" * 297 + b"\r\n")
    assert [each[0] for each in reading.read if isinstance(each, tuple)][-1] == 2


async def test_after_a_lost_connection_nothing_of_it_is_left_to_be_read() -> None:
    reading = Reading()
    await reading.parser.parse(b"MSG a.b 1 300\r\nabc")
    reading.parser.reset()
    await reading.parser.parse(b"PING\r\n")
    assert reading.read == ["ping"]


@pytest.mark.parametrize(
    "block",
    [
        b"NATS/1.0 \xff\xff\xff\r\n\r\n",
        b"NATS/1.0",
        b"NATS/1.0 404 \xff\r\n\r\n",
        b"",
        b"\xff" * 12,
    ],
)
async def test_headers_that_cannot_be_read_are_none_and_the_message_is_there(block: bytes) -> None:
    message = await Receiving().receive(b"a.\xff", block)
    assert (message.subject, message.data) == ("a.\ufffd", b"data")
    assert not message.headers


async def test_headers_that_can_be_read_are_read() -> None:
    message = await Receiving().receive(b"a", b"NATS/1.0 404 No Messages\r\nA: \xff\r\n\r\n")
    assert message.headers == {"Status": "404", "Description": "No Messages", "A": "\ufffd"}
