"""nats-py's client, so read that no sender's bytes can end it, and so that its end for good is told.

Read at nats-py 2.16.0 (`nats/aio/client.py`, `nats/protocol/parser.py`). Whatever a message raises there ends its read
loop: nobody reads the connection until its pings are missed, and then the same message comes again. What raises: a
header block that is cut off (`NATS/1.0` alone, IndexError), bytes that are no UTF-8 in a header's status line, a
subject or a reply subject, and white space in a subject (VT, FF) that is none to a server and is to the parser.
"""

from __future__ import annotations

import asyncio

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ProtocolError
from nats.protocol.parser import Parser

_LINE_END = b"\r\n"
_WORDS = {b"MSG": 4, b"HMSG": 5}  # without a reply subject


class Connection(Client):
    """A client that reads on whatever a message holds. `ended` is set once it is closed for good, by whomever."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = asyncio.Event()
        self._ps: Parser = MessageParser(self)

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

    def _build_message(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: dict[str, str] | None
    ) -> Msg:
        """A message; bytes of a subject that are no UTF-8 become U+FFFD, which no name of ours contains."""
        return Msg(
            _client=self,
            subject=subject.decode(errors="replace"),
            reply=reply.decode(errors="replace"),
            data=data,
            headers=headers,
            _sid=sid,
        )


class MessageParser(Parser):
    """Takes messages apart as the server writes them, words between single spaces; the rest is nats-py's."""

    def reset(self) -> None:
        super().reset()
        self._unread = bytearray()

    async def parse(self, data: bytes = b"") -> None:
        """Give on each whole message and line of what has arrived. Raises ProtocolError where neither begins."""
        self._unread.extend(data)
        while (end := self._unread.find(_LINE_END)) >= 0:
            line = bytes(self._unread[:end])
            kind = line[: line.find(b" ")].upper()
            if kind not in _WORDS:
                del self._unread[: end + len(_LINE_END)]
                await super().parse(line + _LINE_END)
                if self.buf:  # too long for it to judge
                    raise ProtocolError("nats: unknown protocol")
            elif not await self._message(kind, line):
                return

    async def _message(self, kind: bytes, line: bytes) -> bool:
        """Whether the message that `line` begins has arrived whole, and was given on."""
        sid, subject, reply, header_size, size = _arguments(kind, line)
        begin = len(line) + len(_LINE_END)
        end = begin + size
        if len(self._unread) < end + len(_LINE_END):
            return False
        headers = bytes(self._unread[begin : begin + header_size]) or None
        payload = bytes(self._unread[begin + header_size : end])
        del self._unread[: end + len(_LINE_END)]
        await self.nc._process_msg(sid, subject, reply, payload, headers)  # noqa: SLF001 - as its own parser
        return True


def _arguments(kind: bytes, line: bytes) -> tuple[int, bytes, bytes, int, int]:
    """Subscription, subject, reply subject, bytes of headers, and bytes in all. Raises ProtocolError."""
    words = line.split(b" ")
    extra = len(words) - _WORDS[kind]
    try:
        header_size = int(words[-2]) if kind == b"HMSG" else 0
        sid, size = int(words[2]), int(words[-1])
    except (ValueError, IndexError) as error:
        raise ProtocolError("nats: malformed MSG") from error
    if extra not in (0, 1) or not 0 <= header_size <= size:
        raise ProtocolError("nats: malformed MSG")
    return sid, words[1], words[3] if extra else b"", header_size, size
