"""Names and event ids that are new each time: the one place that draws randomness for the history."""

from __future__ import annotations

import os
import secrets
import socket
from datetime import UTC, datetime

from streams.messages.event_ids import event_id


def new_event_id() -> str:
    """26 characters, in order of time between hosts whose clocks agree, never the same twice."""
    return event_id(datetime.now(UTC), secrets.token_bytes(10))


def now() -> datetime:
    """The wall clock, with its zone."""
    return datetime.now(UTC)


def new_command_id() -> str:
    """A fresh command id, short enough to be typed again."""
    return f"c-{secrets.token_hex(8)}"


def replica_name() -> str:
    """A name that no other process has: host, process id and a random part, as one token."""
    word = "".join(c if c.isalnum() else "-" for c in host().split(".")[0].lower()).strip("-")
    return f"{word[:30] or 'host'}-{os.getpid()}-{secrets.token_hex(3)}"


def host() -> str:
    """This host's name as the system tells it, whole: what a heartbeat says of where its replica runs."""
    return socket.gethostname()


def version() -> str:
    """The installed distribution's version; `0+checkout` when it runs from a bare checkout."""
    from importlib import metadata  # noqa: PLC0415  a tenth of a command's start, and few commands ask

    try:
        return metadata.version("dispatch-supervisor")
    except metadata.PackageNotFoundError:
        return "0+checkout"
