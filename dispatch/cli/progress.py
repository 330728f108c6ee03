"""Progress on stderr: on a terminal after a second, otherwise a line every half minute, with counts."""

from __future__ import annotations

import time
from collections.abc import Callable

from dispatch.cli.screen import Screen

FIRST_S = 1.0
TERMINAL_EVERY_S = 0.2
PIPE_EVERY_S = 30.0


class Progress:
    """`folded 3,200 of 10,000`, redrawn on a terminal and gone at the end."""

    def __init__(
        self, screen: Screen, verb: str, of: int | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._screen = screen
        self._clock = clock
        self._verb = verb
        self._of = of
        self._terminal = screen.err.isatty()
        self._next = clock() + (FIRST_S if self._terminal else PIPE_EVERY_S)
        self._drawn = False

    def at(self, count: int) -> None:
        """Say how far it is, if it is time to."""
        if self._screen.quiet or self._clock() < self._next:
            return
        self._next = self._clock() + (TERMINAL_EVERY_S if self._terminal else PIPE_EVERY_S)
        text = f"{self._verb} {count:,}" + (f" of {self._of:,}" if self._of is not None else "")
        if self._terminal:
            self._screen.err.write(f"\r{text}\x1b[K")
            self._screen.err.flush()
            self._drawn = True
        else:
            self._screen.hint(text)

    def done(self) -> None:
        """Leave nothing behind."""
        if self._drawn:
            self._screen.err.write("\r\x1b[K")
            self._screen.err.flush()
