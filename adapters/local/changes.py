"""Names of jobs that changed, one line each, for whoever watches. Wake-ups only: lines may be lost (L13).

On a full disk a line is lost, or torn; readers pass over what is no name.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from streams.messages.calls import JobName
from streams.subjects import is_token

CHANGES = "changes"
BYTES_MAX = 256 * 1024
log = logging.getLogger(__name__)


class ChangesWriter:
    """The daemon's end. The file starts anew when it is long."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / CHANGES
        self._file = self._path.open("ab", buffering=0)
        self._torn = self._file.tell() > 0  # by a writer that was killed, perhaps
        self._failing = False

    def note(self, name: JobName) -> None:
        """Write the name down; one write, so that a reader never sees a part of it. What the disk refuses is lost."""
        line = f"{name.installation} {name.tenant} {name.job}\n".encode("ascii")
        try:
            if self._file.tell() > BYTES_MAX:
                self._start_anew()
            words = b"\n" + line if self._torn else line
            self._torn = True
            self._torn = self._file.write(words) != len(words)
        except OSError as error:  # no wake-up is worth failing a call that was done, or a run's next step
            self._complain(error)
        else:
            self._failing = False

    def _start_anew(self) -> None:
        """The new file is there before the old one is let go: if it cannot be made, the old one serves on."""
        fresh = self._path.with_suffix(".new")
        try:
            file = fresh.open("wb", buffering=0)
        except OSError as error:
            self._complain(error)
            return
        fresh.replace(self._path)
        self._file.close()
        self._file, self._torn = file, False

    def _complain(self, error: OSError) -> None:
        if not self._failing:
            log.warning("%s: %s", CHANGES, error)
        self._failing = True

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
        for line in dict.fromkeys(lines.decode("ascii", "replace").splitlines()):
            words = line.split(" ")
            if len(words) == 3 and all(is_token(word) for word in words):
                yield JobName(installation=words[0], tenant=words[1], job=words[2])

    def _now(self) -> tuple[int, int]:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return 0, 0
        return status.st_ino, status.st_size
