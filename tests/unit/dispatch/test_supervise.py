from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from dispatch.supervise import SuperviseOptions, ranges, supervise, tell_when_caught_up
from streams.memory import MemoryBus
from tests.unit.dispatch.test_replica import adapter, at_work, replica


@pytest.mark.parametrize(
    ("numbers", "told"),
    [([], "none"), ([3], "3"), ([0, 1, 2], "0-2"), ([3, 7, 9], "3,7,9"), ([0, 1, 4, 5, 6, 8], "0-1,4-6,8")],
)
def test_shards_are_told_in_few_words(numbers: list[int], told: str) -> None:
    assert ranges(numbers) == told


async def test_a_name_that_can_be_no_clusters_is_refused_before_anything_is_done() -> None:
    with capture_logs() as logs:
        assert await supervise(SuperviseOptions(nats=("nats://127.0.0.1:1",), name="sv-a", clusters=("Bad Name",))) == 2
    (line,) = logs
    assert line["why"].startswith("cluster 'Bad Name' must be 1 to 63 of a-z")


@pytest.mark.parametrize(("observe", "first"), [(False, "0-3"), (True, "none")])
async def test_a_replica_tells_its_shards_and_how_many_open_jobs_it_knows(observe: bool, first: str) -> None:
    bus = MemoryBus(shards=4, lease_s=0.5, wait_s=0.1)
    lone = replica(bus, adapter(), observe=observe)
    with capture_logs() as logs:
        async with at_work(lone), asyncio.timeout(20):
            await tell_when_caught_up(lone)
    (line,) = [each for each in logs if each["event"] == "caught up"]
    assert (line["replica"], line["first_for_shards"], line["open_jobs"]) == ("sv-a", first, 0)
    assert line["folded_in_s"] >= 0
