"""What a replica says of itself in its heartbeat, and what the others conclude from it. Liveness only (L12)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """First for these shards, when each cluster last answered a Find, and what it may serve.

    `host`: the whole host name. `serves`: names of clusters, or `*` for every one; empty: an older version's.
    """

    name: str
    version: str
    at: datetime
    shards: tuple[int, ...] = ()
    clusters: dict[str, datetime | None] = {}
    open_jobs: int = 0
    in_flight: int = 0
    draining: bool = False
    observing: bool = False
    host: str = ""
    serves: tuple[str, ...] = ()

    @property
    def takes_work(self) -> bool:
        """Whether shards may be left to it."""
        return not (self.draining or self.observing)


def read(held: Mapping[str, bytes]) -> dict[str, Beat | None]:
    """The beats by name; None where one cannot be read: something lives there all the same."""
    return {name: _decoded(data) for name, data in held.items()}


def _decoded(data: bytes) -> Beat | None:
    try:
        return msgspec.json.decode(data, type=Beat)
    except msgspec.DecodeError:
        return None


def that_take_work(beats: Mapping[str, Beat | None]) -> set[str]:
    """The replicas to divide the shards among. One whose beat cannot be read counts: its shards are its own."""
    return {name for name, beat in beats.items() if beat is None or beat.takes_work}


def that_serve_others(beats: Iterable[Beat | None], serves: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The replicas at work that were told other clusters than these: name, and what each was told."""
    return {b.name: b.serves for b in beats if b is not None and b.takes_work and b.serves and b.serves != serves}
