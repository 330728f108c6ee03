"""What every command has at hand: its flags, the screen, the settings, a connection, and the one way to answer."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dispatch.cli.params import ChangeFlags, GlobalFlags
from dispatch.cli.screen import Screen, screen_for, write_document

if TYPE_CHECKING:
    from dispatch.cli.session import Session
    from dispatch.cli.times import Times
    from dispatch.config import Settings

T = TypeVar("T")
TIMEOUT_S = 10.0


class Tool:
    """One command line. Everything is made when it is first asked for.

    `timeout_s`: how long one answer is waited for. `wait_until`: when `--timeout` ends a wait, of `time.monotonic`;
    it is counted from here, whatever the command does before it waits.
    """

    def __init__(self, flags: GlobalFlags, change: ChangeFlags | None = None) -> None:
        self.flags = flags
        self.change = change or ChangeFlags()
        self.timeout_s = TIMEOUT_S if flags.timeout is None else flags.timeout
        self.waiting = False
        self.wait_until = None if flags.timeout is None else time.monotonic() + flags.timeout

    def waits(self) -> None:
        """This command follows something: all of `--timeout` is of that, one answer has no more than without the flag."""
        self.timeout_s = min(self.timeout_s, TIMEOUT_S)
        self.waiting = True

    @functools.cached_property
    def screen(self) -> Screen:
        """Where text goes; with `--wide` nothing is cut."""
        screen = screen_for(
            self.flags.color, os.environ, quiet=self.flags.quiet or self.flags.json, verbose=self.flags.verbose
        )
        return screen.uncut() if self.flags.wide else screen

    @functools.cached_property
    def settings(self) -> Settings:
        """Where the bus is and in whose name. Raises ConfigError."""
        from dispatch.config import Flags, resolve

        flags = self.flags
        typed = Flags(flags.context, flags.nats, flags.creds, flags.tenant, flags.cluster, flags.inbox_prefix)
        return resolve(typed, os.environ, Path.cwd())

    def times(self) -> Times:
        """Times as of now, in the reader's zone."""
        from datetime import UTC

        from dispatch.cli.times import Times
        from dispatch.identity import now

        return Times(now(), UTC if self.flags.utc else None)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a command's coroutine in an event loop of its own."""
        import asyncio

        return asyncio.run(work)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """A connection for this command. Raises ConfigError and the errors of the bus."""
        from dispatch.cli.session import Session, opened

        client = await opened(self.settings, timeout_s=self.timeout_s)
        try:
            yield Session(self, client)
        finally:
            await client.bus.close()

    def document(self, view: str, data: object, *, number: int = 1) -> None:
        """The answer as one JSON document of schema `dispatch.VIEW/NUMBER`."""
        from dispatch.cli.documents import plain, stamp

        body: Mapping[str, object] = {"data": plain(data)}
        write_document(f"dispatch.{view}/{number}", stamp(), body, self.screen.out)

    def failed(self, view: str, error: Mapping[str, object]) -> None:
        """An error as one JSON document."""
        from dispatch.cli.documents import plain, stamp

        write_document(f"dispatch.{view}/1", stamp(), {"error": plain(error)}, self.screen.out)

    def stream(self, item: Mapping[str, object]) -> None:
        """One line of a stream."""
        import json

        from dispatch.cli.documents import plain

        self.screen.out.write(json.dumps(plain(item), separators=(",", ":")) + "\n")
        self.screen.out.flush()

    def answer(self, view: str, data: object, lines: Callable[[], list[str]]) -> None:
        """The answer: a document with `--json`, else lines for a person."""
        if self.flags.json:
            self.document(view, data)
        else:
            self.screen.lines(lines())
