"""A supervisor frozen (SIGSTOP) at every await of its passes for longer than its lease, and then woken.

Another replica carries on meanwhile. The woken one acts from a stale view: what it decided is refused by the store,
a reply it was waiting for is recorded late, and nothing runs twice (L4, L5, L6, L10).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.integration.kills.lone import Scenario
from tests.integration.kills.scenarios import FIRST, SECOND, launch, recovery
from tests.integration.kills.stand import stand


async def _everywhere(directory: Path, make: Callable[[Path, str], Scenario], allowed: list[list[int]]) -> None:
    async with stand(directory) as here:
        scenario = partial(make, here.marks)
        told = await here.enumerate(make.__name__, scenario, signal.SIGSTOP)
        assert {text.split()[1] for text in told.values() if text.startswith("hit")} == {"before", "in", "after"}
        await asyncio.gather(*(here.judge(scenario(job), allowed) for job in told))


@pytest.mark.timeout(1200)
async def test_a_supervisor_frozen_at_any_await_of_a_launch_and_woken_runs_nothing_twice(tmp_path: Path) -> None:
    await _everywhere(tmp_path, launch, [[FIRST]])


@pytest.mark.timeout(1200)
async def test_a_supervisor_frozen_at_any_await_of_a_recovery_and_woken_runs_nothing_twice(tmp_path: Path) -> None:
    await _everywhere(tmp_path, recovery, [[FIRST, SECOND]])
