"""The local adapter keeps what every scheduler adapter keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conformance.local_world import LocalWorld
from tests.conformance.scheduler_capabilities import (
    CessationSuite,
    HoldSuite,
    InspectSuite,
    OutputSuite,
    RequeueSuite,
    WatchSuite,
)
from tests.conformance.scheduler_suite import RequiredSuite


class TestLocal(RequiredSuite, HoldSuite, RequeueSuite, CessationSuite, WatchSuite, OutputSuite, InspectSuite):
    @pytest.fixture
    async def world(self, tmp_path: Path) -> AsyncIterator[LocalWorld]:
        world = LocalWorld(tmp_path)
        yield world
        await world.close()
