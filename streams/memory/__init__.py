"""A whole bus in one process's memory: for tests and quick starts. Same suite as the real one, nothing is kept.

Bytes pass the codec as on a server. `MemoryBus.connect()` gives another replica's connection to the same store.
"""

from __future__ import annotations

from streams.memory.buckets import MemoryBuckets
from streams.memory.bus import MemoryBus, MemoryStore
from streams.memory.history import MemoryHistory
from streams.memory.queues import MemoryCommands, MemoryWakeUps

__all__ = ["MemoryBuckets", "MemoryBus", "MemoryCommands", "MemoryHistory", "MemoryStore", "MemoryWakeUps"]
