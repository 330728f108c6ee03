"""The clock of a scheduler's host: what `as_of` and deadlines are told by. It never goes back.

Set back, or restarted, it runs on from the greatest instant it has told, which it keeps on disk. Linux only.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
TICK_NS = 1_000
SYNC_EVERY_NS = 1_000_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_boot_id(path: Path = BOOT_ID) -> str:
    """The id of this boot of the machine: another one proves that everything before it has ceased."""
    return path.read_text(encoding="ascii").strip()


def since_boot_ns() -> int:
    """Time since this boot, suspension included; nobody can set it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class HostClock:
    """Tells an instant that is later than every one told before, also by an earlier process on this file.

    One process at a time. What was told is on disk before it is given out; a power cut may lose the last second of
    it, so after a boot the clock starts a second later than what it finds.
    """

    def __init__(self, path: Path, *, boot: str, wall_ns: Callable[[], int] = time.time_ns) -> None:
        self._wall_ns = wall_ns
        self._boot = boot
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._told_ns, self._at_ns = self._read()
        self._synced_ns = 0

    def now(self) -> datetime:
        at_ns = since_boot_ns()
        on_ns = self._told_ns + max(at_ns - self._at_ns, TICK_NS)
        self._told_ns, self._at_ns = max(self._wall_ns(), on_ns) // TICK_NS * TICK_NS, at_ns
        self._write()
        return EPOCH + timedelta(microseconds=self._told_ns // TICK_NS)

    def close(self) -> None:
        os.close(self._file)

    def _read(self) -> tuple[int, int]:
        at_ns = since_boot_ns()
        with contextlib.suppress(ValueError):
            told, at, boot = (
                os.pread(self._file, 200, 0).decode("ascii", "replace").partition("\n")[0].split(maxsplit=2)
            )
            return (int(told), int(at)) if boot == self._boot else (int(told) + SYNC_EVERY_NS, at_ns)
        return 0, at_ns

    def _write(self) -> None:
        line = f"{self._told_ns:020d} {self._at_ns:020d} {self._boot}\n"
        os.pwrite(self._file, line.encode("ascii"), 0)
        if self._at_ns - self._synced_ns >= SYNC_EVERY_NS:
            os.fdatasync(self._file)
            self._synced_ns = self._at_ns
