from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conformance.streams_world import JetStreamWorld
from tests.servers.nats import NatsNode, one_node


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[NatsNode]:
    """A server with nothing on it."""
    async with one_node(tmp_path) as server:
        yield server


@pytest.fixture
async def world(node: NatsNode) -> AsyncIterator[JetStreamWorld]:
    """A server with everything that set-up makes."""
    world = JetStreamWorld(node)
    await world.prepare()
    yield world
    await world.close()
