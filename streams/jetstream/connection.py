"""nats-py's client, so read that no sender's bytes can end it, and so that its end for good is told.

Read at nats-py 2.16.0 (`nats/aio/client.py`, `nats/protocol/parser.py`). Whatever a message raises there ends its read
loop: nobody reads the connection until its pings are missed, and then the same message comes again. What raises: a
header block that is cut off (`NATS/1.0` alone, IndexError), bytes that are no UTF-8 in a header's status line, a
subject or a reply subject, and white space in a subject (VT, FF) that is none to a server and is to the parser.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error, ProtocolError
from nats.protocol.parser import Parser

_LINE_END = b"\r\n"
_WORDS = {b"MSG": 4, b"HMSG": 5}  # without a reply subject


class Heard(msgspec.Struct):
    """A message as it arrived; nats-py's own takes several times as long to make."""

    subject: str
    reply: str
    data: bytes
    headers: dict[str, str] | None


class Connection(Client):
    """A client that reads on whatever a message holds. `ended` is set once it is closed for good, by whomever.

    `tls_only`: say nothing of ourselves to a server that offers no TLS. nats-py follows what the server's first line
    says, which anyone between may have written, and sends its credentials as it is told.
    """

    def __init__(self, *, tls_only: bool = False) -> None:
        super().__init__()
        self.ended = asyncio.Event()
        self._tls_only = tls_only
        self._ps: Parser = MessageParser(self)
        self._heard: dict[int, Callable[[Heard], None]] = {}

    async def hear(self, subject: str, hear: Callable[[Heard], None]) -> Subscription:
        """Give every message on `subject` to `hear` as it is read: no queue and no task of nats-py's stand between.

        `hear` does not wait and does not raise. Raises as nats-py's `subscribe`; ends with `unhear`, or the connection.
        """
        subscription = await self.subscribe(subject)
        self._heard[subscription._id] = hear  # noqa: SLF001 - the number that each message bears
        return subscription

    async def unhear(self, subscription: Subscription) -> None:
        """Raises as nats-py's `unsubscribe`; nothing is heard afterwards in any case."""
        del self._heard[subscription._id]  # noqa: SLF001 - as above
        await subscription.unsubscribe()

    def _connect_command(self) -> bytes:
        """What is said of us to a server that was just reached. Raises Error, which tries the next, as told above."""
        writer = getattr(self._transport, "_io_writer", None)  # none of a web socket's, whose scheme says it
        encrypted = writer is not None and writer.get_extra_info("ssl_object") is not None
        if self._tls_only and not encrypted and self._scheme() != "wss":
            raise Error("the server offers no TLS, and these settings ask for it")
        command: bytes = super()._connect_command()
        return command

    def _scheme(self) -> str:
        return str(self._current_server.uri.scheme) if self._current_server is not None else ""

    async def _flush_pending(self, force_flush: bool = False) -> None:  # noqa: FBT001, FBT002 - nats-py's signature
        """Write what is pending now, not a turn of the loop later: whoever sends a request waits for its answer."""
        if force_flush or not self.is_connected or self._transport is None:
            await super()._flush_pending(force_flush)
            return
        pending, self._pending, self._pending_data_size = self._pending, [], 0
        try:
            self._transport.writelines(pending)
            await self._transport.drain()  # type: ignore[no-untyped-call]
        except OSError as error:  # as where nats-py writes: who waits for an answer is told that the connection is lost
            await self._process_op_err(error)

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes | None) -> None:
        hear = self._heard.get(sid)
        if hear is None:
            await super()._process_msg(sid, subject, reply, data, headers)  # type: ignore[arg-type]  # None: no headers
        else:
            read = await self._process_headers(headers) if headers else None
            hear(Heard(_text(subject), _text(reply), data, read))

    async def _close(self, status: int, do_cbs: bool = True) -> None:  # noqa: FBT001, FBT002 - nats-py's signature
        try:
            await super()._close(status, do_cbs)
        finally:
            self.ended.set()

    async def _process_headers(self, headers: bytes | None) -> dict[str, str] | None:
        """The headers of a message; none if they cannot be read."""
        try:
            read: dict[str, str] | None = await super()._process_headers(headers)
        except Exception:  # any: raised on, it would end the read loop, whatever the sender's bytes were
            return None
        return read

    def _build_message(  # called: by nats-py
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: dict[str, str] | None
    ) -> Msg:
        """A message for whoever subscribed by nats-py's own means."""
        return Msg(_client=self, subject=_text(subject), reply=_text(reply), data=data, headers=headers, _sid=sid)


def _text(subject: bytes) -> str:
    """A subject; bytes in it that are no UTF-8 become U+FFFD, which no name of ours contains."""
    return subject.decode(errors="replace")


class MessageParser(Parser):
    """Takes messages apart as the server writes them, words between single spaces; the rest is nats-py's."""

    def reset(self) -> None:
        super().reset()
        self._unread = bytearray()
        self._awaited = 0

    async def parse(self, data: bytes = b"") -> None:
        """Give on each whole message and line of what has arrived. Raises ProtocolError where neither begins."""
        unread = self._unread  # of this connection: a lost one's is set aside
        unread += data
        if len(unread) < self._awaited:
            return
        arrived, begin = bytes(unread), 0
        try:
            while (end := arrived.find(_LINE_END, begin)) >= 0:
                line, payload_at = arrived[begin:end], end + len(_LINE_END)
                words = line.split(b" ")
                kind = words[0].upper()
                if kind not in _WORDS:
                    begin = payload_at
                    await self._line(line + _LINE_END)
                    continue
                sid, reply, header_size, size = _arguments(kind, words)
                over = payload_at + size
                self._awaited = over + len(_LINE_END) - begin
                if len(arrived) < begin + self._awaited:
                    return
                begin += self._awaited
                headers = arrived[payload_at : payload_at + header_size] or None
                payload = arrived[payload_at + header_size : over]
                await self.nc._process_msg(sid, words[1], reply, payload, headers)  # noqa: SLF001 - as its own parser
            self._awaited = 0
        finally:
            del unread[:begin]

    async def _line(self, line: bytes) -> None:
        """What is no message is nats-py's to judge."""
        await super().parse(line)
        if self.buf:  # too long for it
            raise ProtocolError("nats: unknown protocol")


def _arguments(kind: bytes, words: list[bytes]) -> tuple[int, bytes, int, int]:
    """Subscription, reply subject, bytes of headers, and bytes in all. Raises ProtocolError."""
    extra = len(words) - _WORDS[kind]
    try:
        header_size = int(words[-2]) if kind == b"HMSG" else 0
        sid, size = int(words[2]), int(words[-1])
    except (ValueError, IndexError) as error:
        raise ProtocolError("nats: malformed MSG") from error
    if extra not in (0, 1) or not 0 <= header_size <= size:
        raise ProtocolError("nats: malformed MSG")
    return sid, words[3] if extra else b"", header_size, size
