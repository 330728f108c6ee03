"""Bytes of one rank's output."""

from __future__ import annotations

from adapters.errors import RefusedError
from adapters.local.objects import ObjectRecord
from adapters.local.plan import Site, output_path
from adapters.wire import OutputQuery

CHUNK_MAX = 64 * 1024


def read(record: ObjectRecord, query: OutputQuery, site: Site) -> tuple[bytes, int]:
    """At most 64 KiB from the query's offset (negative: from the end), and the next offset. No output yet: empty.

    Raises RefusedError for a rank that the job does not have.
    """
    if not 0 <= query.rank < record.spec.ranks:
        raise RefusedError(f"the job has ranks 0 to {record.spec.ranks - 1}, not {query.rank}")
    try:
        with output_path(record, query.run, query.rank, site).open("rb") as file:
            size = file.seek(0, 2)
            start = max(size + query.offset, 0) if query.offset < 0 else query.offset
            file.seek(start)
            data = file.read(CHUNK_MAX)
    except FileNotFoundError:
        return b"", max(query.offset, 0)
    return data, start + len(data)
