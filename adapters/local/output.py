"""Bytes of one rank's output."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from adapters.errors import RefusedError
from adapters.files import NotAFileError, open_file
from adapters.local.objects import ObjectRecord
from adapters.local.plan import Site, output_path
from adapters.wire import OutputQuery
from streams.messages.calls import Output

CHUNK_MAX = 64 * 1024


def read(record: ObjectRecord, query: OutputQuery, site: Site) -> Output:
    """At most 64 KiB from the query's offset (negative: from the end). No output yet: no bytes, and no source.

    The source is named as the job file does, from the job's own directory, or by its path in the cluster's. Raises
    RefusedError for a rank that the job does not have, and for an output that is no file: a job may put a pipe there.
    """
    if not 0 <= query.rank < record.spec.ranks:
        raise RefusedError(f"the job has ranks 0 to {record.spec.ranks - 1}, not {query.rank}")
    path = output_path(record, query.run, query.rank, site)
    try:
        descriptor = open_file(path, os.O_RDONLY)
    except FileNotFoundError:
        return Output(next=max(query.offset, 0))
    except NotAFileError as error:
        raise RefusedError(f"the output of rank {query.rank} cannot be read: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        known = os.fstat(descriptor)
        start = max(known.st_size + query.offset, 0) if query.offset < 0 else query.offset
        file.seek(start)
        data = file.read(CHUNK_MAX)
    workdir = site.base_dir / record.spec.run.workdir
    named = path.relative_to(workdir) if record.spec.output is not None and path.is_relative_to(workdir) else path
    written_at = datetime.fromtimestamp(known.st_mtime, UTC) if known.st_size else None
    return Output(data=data, next=start + len(data), source=str(named), written_at=written_at)
