"""How one replica works: bounds and intervals, in seconds."""

from __future__ import annotations

import msgspec


class ReplicaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is the replica's in heartbeats and in the `by` of events; `installation` is on every tag."""

    name: str
    installation: str
    lease_s: float = 30.0
    heartbeat_s: float = 5.0
    passes_max: int = 16
    drain_s: float = 20.0
    sweep_s: float = 300.0
    observe: bool = False
    held_records_max: int = 20_000
