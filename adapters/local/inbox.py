"""Requests to the host of a directory and its replies: one file each, moved by renames.

    caller: drafts/X ─▶ inbox/X      host: inbox/X ─▶ taken/X, act, replies/X      caller: reads replies/X

A request that is still in the inbox can be withdrawn, and then was never seen. One that was taken by a host that was
killed is taken up again by the next: every call may be done twice, and is done only before its deadline. Whatever the
next cannot do then is answered as unknown, since the one before may have done it.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from pathlib import Path

BELL = "bell"
KEEP_S = 600.0


class Inbox:
    """Both ends of it: callers post, withdraw and collect; the one host takes, reads and answers."""

    def __init__(self, state_dir: Path) -> None:
        self._drafts, self._inbox, self._taken, self._replies = (
            state_dir / name for name in ("drafts", "inbox", "taken", "replies")
        )
        self._bell = state_dir / BELL
        for folder in (self._drafts, self._inbox, self._taken, self._replies):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def post(self, data: bytes) -> str:
        """Put a request in, whole, and ring; its id. Ids sort by the time they were made."""
        request = f"{time.time_ns():020d}-{os.getpid()}-{os.urandom(4).hex()}"
        (self._drafts / request).write_bytes(data)
        (self._drafts / request).rename(self._inbox / request)
        with contextlib.suppress(OSError):  # nobody listens yet, or the bell is full of rings
            bell = os.open(self._bell, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                os.write(bell, b"c")
            finally:
                os.close(bell)
        return request

    def withdraw(self, request: str) -> bool:
        """Take a request back; False if the host has taken it, or has answered."""
        try:
            (self._inbox / request).rename(self._drafts / request)
        except FileNotFoundError:
            return False
        (self._drafts / request).unlink()
        return True

    def collect(self, request: str) -> bytes | None:
        """The reply, once; None if there is none yet."""
        path = self._replies / request
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        path.unlink(missing_ok=True)
        return data

    def waiting(self) -> list[str]:
        """Requests not taken yet, oldest first."""
        return sorted(os.listdir(self._inbox))

    def left_over(self) -> list[str]:
        """Requests that an earlier host took and did not answer."""
        return sorted(os.listdir(self._taken))

    def take(self, request: str) -> bool:
        """Take it, so that it can no longer be withdrawn; False if it was."""
        try:
            (self._inbox / request).rename(self._taken / request)
        except FileNotFoundError:
            return False
        return True

    def read(self, request: str) -> bytes:
        """A request that was taken."""
        return (self._taken / request).read_bytes()

    def answer(self, request: str, data: bytes) -> None:
        (self._drafts / request).write_bytes(data)
        (self._drafts / request).rename(self._replies / request)
        (self._taken / request).unlink()

    def sweep(self) -> None:
        """Remove replies that nobody collected, and drafts whose writers died."""
        before = time.time() - KEEP_S
        for folder in (self._drafts, self._replies):
            for path in folder.iterdir():
                with contextlib.suppress(FileNotFoundError):
                    if path.stat().st_mtime < before:
                        path.unlink()


class Bell:
    """Where callers and runners ring: a named pipe. A ring that is lost costs one tick, no more."""

    def __init__(self, state_dir: Path) -> None:
        path = state_dir / BELL
        with contextlib.suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def wait(self, seconds: float) -> None:
        """Until somebody rings, at most this long."""
        select.select([self._pipe], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            os.read(self._pipe, 65536)

    def ring(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._pipe, b"s")

    def close(self) -> None:
        os.close(self._pipe)
