"""The ground that these tests stand on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.promises.ground import Ground, ground


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Ground]:
    async with ground(tmp_path) as made:
        yield made
