from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conformance.streams_queues import BucketSuite, QueueSuite
from tests.conformance.streams_suite import HistorySuite
from tests.conformance.streams_world import JetStreamWorld, MemoryWorld
from tests.servers.nats import one_node


class TestMemory(HistorySuite, QueueSuite, BucketSuite):
    @pytest.fixture
    def world(self) -> MemoryWorld:
        return MemoryWorld()


class TestJetStream(HistorySuite, QueueSuite, BucketSuite):
    @pytest.fixture
    async def world(self, tmp_path: Path) -> AsyncIterator[JetStreamWorld]:
        async with one_node(tmp_path) as node:
            world = JetStreamWorld(node)
            await world.prepare()
            yield world
            await world.close()
