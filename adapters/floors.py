"""The newest pair that a host was called with for each job, kept on disk (L14)."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import msgspec

from adapters.files import read_or_none, write_whole
from adapters.names import scheduler_name
from streams.messages.calls import JobName
from streams.messages.values import Floor

HELD_MAX = 10_000


class FloorStore:
    """One file a job. Of two pairs at one revision the first is kept: the second shows that the history was rewritten.

    The jobs asked for last, `HELD_MAX` of them, are held in memory; any other is read from its file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: OrderedDict[str, Floor | None] = OrderedDict()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def newest(self, name: JobName) -> Floor | None:
        """Raises OSError or msgspec.DecodeError if the pair is there and cannot be read."""
        key = scheduler_name(name)
        if key not in self._known:
            data = read_or_none(self._folder / key)
            self._hold(key, msgspec.json.decode(data, type=Floor) if data else None)
        self._known.move_to_end(key)
        return self._known[key]

    def note(self, name: JobName, pair: Floor) -> None:
        """Remember this pair if it is the newest; on disk before this returns."""
        newest = self.newest(name)
        if newest is None or pair.revision > newest.revision:
            key = scheduler_name(name)
            del self._known[key]  # a disk that fails half-way may have the new one: it is read again then
            write_whole(self._folder / key, msgspec.json.encode(pair))
            self._hold(key, pair)

    def _hold(self, key: str, pair: Floor | None) -> None:
        self._known[key] = pair
        if len(self._known) > HELD_MAX:
            self._known.popitem(last=False)


def newer(one: Floor | None, other: Floor | None) -> Floor | None:
    """Of several agents' pairs the newest counts; at one revision the first given."""
    if one is None or other is None:
        return one or other
    return other if other.revision > one.revision else one
