"""Which replica comes first for a shard: a rendezvous hash over the live replicas that take work. Liveness only (L12)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

RANK_MAX = 9


def rank_of(shard: int, replica: str, live: Iterable[str]) -> int:
    """The replica's place for the shard, 0 first; the same for every replica that sees the same ones live."""
    mine = _weight(shard, replica)
    ahead = sum(1 for other in set(live) - {replica} if _weight(shard, other) > mine)
    return min(ahead, RANK_MAX)


def _weight(shard: int, replica: str) -> bytes:
    return hashlib.sha256(f"{shard}/{replica}".encode()).digest()
