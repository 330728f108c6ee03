"""A cluster behind an agent keeps what every scheduler adapter keeps. (It is not watched: the agent wakes its jobs.)"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conformance.remote_world import RemoteWorld, remote_over_local
from tests.conformance.scheduler_capabilities import CessationSuite, HoldSuite, InspectSuite, OutputSuite, RequeueSuite
from tests.conformance.scheduler_suite import RequiredSuite


class TestRemoteOverLocal(RequiredSuite, HoldSuite, RequeueSuite, CessationSuite, OutputSuite, InspectSuite):
    @pytest.fixture
    async def world(self, tmp_path: Path) -> AsyncIterator[RemoteWorld]:
        async with remote_over_local(tmp_path) as world:
            yield world
