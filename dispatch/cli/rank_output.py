"""Reading what one rank wrote: its last lines, however long they are, and what follows them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from adapters.port import ReadsOutput
from projections.record import ObjectRecord, RunRecord
from streams.messages.calls import JobName, Output

CHUNK_BYTES = 64 * 1024
_END_OF_LINE = re.compile(r"\r\n|\n|\r")


@dataclass(slots=True)
class RankOutput:
    """One rank of one execution, and how far it was read.

    `left`: an unfinished line that was read and not yet given. `source`, `written_at`: of the copy last read.
    """

    adapter: ReadsOutput
    name: JobName
    held: ObjectRecord
    run: RunRecord
    rank: int
    node: str
    offset: int = 0
    left: bytes = b""
    source: str = ""
    written_at: datetime | None = None

    async def tail(self, count: int, *, flush: bool) -> list[str]:
        """The last lines written so far, each whole; all of them for 0. With `flush` also an unfinished last one."""
        if not count:
            return await self.more(flush=flush)
        last = await self._read(-CHUNK_BYTES)
        self.offset = last.next
        data, self.left = await self._reaching_back(last, count), b""
        if not flush:
            whole, ended, rest = data.rpartition(b"\n")
            data, self.left = whole + ended, rest
        return lines_of(data)[-count:]

    async def more(self, *, flush: bool) -> list[str]:
        """What was written since, in whole lines; with `flush` also an unfinished one."""
        data = self.left
        while True:
            part = await self._read(self.offset)
            data += part.data
            if not part.data or part.next == self.offset:
                break
            self.offset = part.next
        whole, ended, rest = data.rpartition(b"\n")
        self.left = b"" if flush else rest
        return lines_of(data if flush else whole + ended)

    async def _reaching_back(self, last: Output, count: int) -> bytes:
        """The end of the output with `count` whole lines before the unfinished one, or all of it, from a line's begin."""
        begin = last.next - len(last.data)
        parts, ends = [last.data], last.data.count(b"\n")
        while begin > 0 and ends <= count:
            start = max(begin - CHUNK_BYTES, 0)
            part = await self._between(start, begin)
            if len(part) < begin - start:
                break  # it was cut since: what is left of it does not join what was read
            parts.append(part)
            ends += part.count(b"\n")
            begin = start
        data = b"".join(reversed(parts))
        return data.partition(b"\n")[2] if begin > 0 else data

    async def _between(self, start: int, end: int) -> bytes:
        """What stands there; less if it was cut since."""
        data = b""
        while len(data) < end - start:
            part = (await self._read(start + len(data))).data
            if not part:
                break
            data += part
        return data[: end - start]

    async def _read(self, offset: int) -> Output:
        found = await self.adapter.read_output(self.name, self.held.ref, self.run.run, self.rank, offset=offset)
        self.source, self.written_at = found.source, found.written_at
        return found


def lines_of(data: bytes) -> list[str]:
    """The lines of it, ended by a line feed, a carriage return or both; bytes that are no UTF-8 are shown as such."""
    lines = _END_OF_LINE.split(data.decode("utf-8", "replace"))
    return lines if lines[-1] else lines[:-1]
