"""Names of jobs that changed, one line each, for whoever watches. Wake-ups only: lines may be lost (L13)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from streams.messages.calls import JobName

CHANGES = "changes"
BYTES_MAX = 256 * 1024


class ChangesWriter:
    """The daemon's end. The file starts anew when it is long."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / CHANGES
        self._file = self._path.open("ab", buffering=0)

    def note(self, name: JobName) -> None:
        """Write the name down; one write, so that a reader never sees a part of it."""
        if self._file.tell() > BYTES_MAX:
            self._file.close()
            fresh = self._path.with_suffix(".new")
            self._file = fresh.open("wb", buffering=0)
            fresh.replace(self._path)
        self._file.write(f"{name.installation} {name.tenant} {name.job}\n".encode("ascii"))

    def close(self) -> None:
        self._file.close()


class ChangesReader:
    """One watcher: sees what is written from now on."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / CHANGES
        self._file_id, self._offset = self._now()

    def read(self) -> Iterator[JobName]:
        """Each name that was written since the last read, once."""
        file_id, size = self._now()
        if file_id != self._file_id or size < self._offset:
            self._file_id, self._offset = file_id, 0
        if size == self._offset:
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            lines, _, rest = file.read().rpartition(b"\n")
            self._offset = file.tell() - len(rest)
        for line in dict.fromkeys(lines.decode("ascii").splitlines()):
            installation, tenant, job = line.split(" ")
            yield JobName(installation=installation, tenant=tenant, job=job)

    def _now(self) -> tuple[int, int]:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return 0, 0
        return status.st_ino, status.st_size
