"""A local world of its own for each test; everything it started is killed afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conformance.local_world import LocalWorld
from tests.conformance.scheduler_world import Job, job_of


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[LocalWorld]:
    world = LocalWorld(tmp_path)
    yield world
    await world.close()


@pytest.fixture
def job(world: LocalWorld) -> Job:
    return job_of(world)
