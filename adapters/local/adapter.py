"""The local adapter: real processes on this machine, for one person, a test, or a first try. Linux only.

Calls go to the directory's daemon through its inbox; any number of adapters, in any processes, share one directory.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from adapters import wire
from adapters.asking import AskingAdapter, no_answer, not_clear
from adapters.errors import SilentError, UnreachableError
from adapters.local import daemon
from adapters.local.calls import CAPABILITIES
from adapters.local.changes import ChangesReader
from adapters.local.inbox import Inbox
from adapters.local.settings import settle_settings
from streams.messages.calls import JobName
from streams.owned import make_own

FIRST_LOOK_S, LOOK_MAX_S = 0.0005, 0.01
DAEMON_LOOK_S, SPAWN_EVERY_S, START_WITHIN_S = 0.1, 0.2, 5.0
WATCH_EVERY_S, WATCH_DAEMON_EVERY_S = 0.1, 1.0


class LocalAdapter(AskingAdapter):
    """Implements the required port and every optional capability, Watches included.

    `slots` and `base_dir` (from which a relative `workdir` starts) are the directory's: given, they are set for all
    who share it; by default they stay, or become this machine's processors and the present directory.
    `reply_within_s` bounds every call. Raises ValueError if the directory belongs to another cluster, or others may write it.
    """

    direct = True

    def __init__(
        self,
        state_dir: Path,
        *,
        cluster: str = "local",
        slots: int | None = None,
        base_dir: Path | None = None,
        reply_within_s: float = 10.0,
    ) -> None:
        if not sys.platform.startswith("linux"):
            raise ValueError("the local adapter reads /proc, so it needs Linux")
        self.state_dir = state_dir.resolve()
        make_own(self.state_dir)
        self.settings = settle_settings(self.state_dir, cluster=cluster, slots=slots, base_dir=base_dir)
        self.daemon_command: tuple[str, ...] | None = None
        self._reply_within_s = reply_within_s
        self._inbox = Inbox(self.state_dir)
        self._spawned_at = -SPAWN_EVERY_S
        self._child: int | None = None

    async def ask(self, request: wire.Request) -> wire.Reply:
        """Through the inbox; a call that the host did not look at in time is withdrawn, and so surely not done."""
        if isinstance(request, wire.CapabilitiesQuery):
            return wire.CapabilitiesReply(capabilities=CAPABILITIES)
        try:
            self._see_to_daemon()
            posted = self._inbox.post(wire.encode(request))
        except OSError as error:
            raise UnreachableError(f"the host's directory cannot be used: {error.strerror}") from error
        try:
            return await self._reply(posted, request)
        except asyncio.CancelledError:
            self._inbox.withdraw(posted)
            raise

    async def watch(self) -> AsyncIterator[JobName]:
        """Names of jobs that changed since this watch began; a daemon that was killed is replaced meanwhile.

        Raises UnreachableError when the directory cannot be used.
        """
        reader = ChangesReader(self.state_dir)
        looked_at = time.monotonic()
        while True:
            try:
                names = list(reader.read())
                if time.monotonic() - looked_at > WATCH_DAEMON_EVERY_S:
                    looked_at = time.monotonic()
                    if (self.state_dir / daemon.WHO).exists():  # it did not leave by itself
                        self._see_to_daemon()
            except OSError as error:
                raise UnreachableError(f"the host's directory cannot be used: {error.strerror}") from error
            for name in names:
                yield name
            await asyncio.sleep(WATCH_EVERY_S)

    async def _reply(self, posted: str, request: wire.Request) -> wire.Reply:
        began = looked_at = time.monotonic()
        pause_s = FIRST_LOOK_S
        while (data := self._inbox.collect(posted)) is None:
            now = time.monotonic()
            if now - began > self._reply_within_s:
                if self._inbox.withdraw(posted):
                    why = "did not look at it" if daemon.is_up(self.state_dir) else "does not start: see its daemon.log"
                    raise SilentError(f"the call was withdrawn: the host {why}")
                if (data := self._inbox.collect(posted)) is None:
                    raise no_answer(request, f"no reply within {self._reply_within_s:g} s")
                break
            if now - looked_at > DAEMON_LOOK_S:
                looked_at = now
                self._see_to_daemon()
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LOOK_MAX_S)
        try:
            return wire.decode_reply(data)
        except msgspec.DecodeError as error:
            raise not_clear(request, f"the reply cannot be read: {error}") from error

    def _see_to_daemon(self) -> None:
        """Start a daemon if none serves the directory; of several that are started one stays."""
        if daemon.is_up(self.state_dir):
            return
        since_s = time.monotonic() - self._spawned_at
        if since_s > (START_WITHIN_S if self._is_starting() else SPAWN_EVERY_S):
            self._spawned_at = time.monotonic()
            self._child = daemon.spawn(self.state_dir, self.daemon_command)

    def _is_starting(self) -> bool:
        """Whether the daemon that was started here last still lives; reaps it if not."""
        if self._child is None:
            return False
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(self._child, os.WNOHANG) == (0, 0):
                return True
        self._child = None
        return False
