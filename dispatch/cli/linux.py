"""What needs Linux says so elsewhere, in one sentence, before anything is read or started."""

from __future__ import annotations

import sys

from dispatch.cli.errors import CliError


def needs_linux(what: str) -> None:
    """Raises CliError (2) on another system. `what`: the command, as it is typed."""
    if not sys.platform.startswith("linux"):
        raise CliError(
            f"{what} needs Linux, and this is {sys.platform}",
            why="the local adapter knows its processes by /proc",
            do="the same on a Linux machine or in a Linux container; what only talks to a bus works here",
            code="bad-settings",
        )
