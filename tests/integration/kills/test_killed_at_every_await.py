"""SIGKILL of the supervisor at every await of a launch, of a recovery and of a cancel: enumerated, not sampled.

Real JetStream, real processes. Whatever is left is carried on by a replica that knows nothing (L11). Executions are
counted from the processes' own marks.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.integration.kills.lone import Scenario
from tests.integration.kills.scenarios import FIRST, SECOND, cancel, launch, recovery
from tests.integration.kills.stand import stand


async def _everywhere(directory: Path, make: Callable[[Path, str], Scenario], allowed: list[list[int]]) -> None:
    async with stand(directory) as here:
        scenario = partial(make, here.marks)
        told = await here.enumerate(make.__name__, scenario, signal.SIGKILL)
        hit = {text for text in told.values() if text.startswith("hit")}
        assert {name.split()[1] for name in hit} == {"before", "in", "after"}
        await asyncio.gather(*(here.judge(scenario(job), allowed) for job in told))


@pytest.mark.timeout(900)
async def test_a_supervisor_killed_at_any_await_of_a_launch_leaves_one_execution(tmp_path: Path) -> None:
    await _everywhere(tmp_path, launch, [[FIRST]])


@pytest.mark.timeout(900)
async def test_a_supervisor_killed_at_any_await_of_a_recovery_leaves_the_two_executions_of_the_plan(
    tmp_path: Path,
) -> None:
    await _everywhere(tmp_path, recovery, [[FIRST, SECOND]])


@pytest.mark.timeout(900)
async def test_a_supervisor_killed_at_any_await_of_a_cancel_leaves_nothing_alive(tmp_path: Path) -> None:
    await _everywhere(tmp_path, cancel, [[FIRST]])
