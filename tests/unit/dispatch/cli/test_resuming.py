"""A stream of events can be taken up where it was left: `watch --from`, `history --from`, `history --follow`."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dispatch.cli.commands import history, watch
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import GlobalFlags
from streams import subjects
from streams.messages.values import Phase
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import Stage


async def succeeded() -> Driver:
    driver = Driver()
    await driver.submit("sleep 60")
    await driver.settle()
    return driver


async def running() -> Driver:
    driver = Driver()
    await driver.submit("sleep 60")
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    return driver


async def told(stage: Stage, **given: Any) -> int:
    return await history._history(stage, history.HistoryOptions(job="llama", **given), None)


def streamed(stage: Stage) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stage.said.splitlines()]


async def test_history_from_the_next_event_shows_nothing_yet() -> None:
    driver = await succeeded()
    stage = Stage(driver, GlobalFlags(json=True))
    assert await told(stage, first=str(driver.record.number + 1)) == Exit.DONE
    assert json.loads(stage.said)["data"] == {"job": "llama", "events": []}


@pytest.mark.parametrize("ahead", ["#{}", "{}", "r{}"])
async def test_watch_from_the_next_event_waits_for_it_and_shows_no_other(ahead: str) -> None:
    driver = await running()
    last, revision = driver.record.number, driver.record.revision
    stage = Stage(driver, GlobalFlags(json=True))
    first = ahead.format((revision if ahead[0] == "r" else last) + 1)
    watching = asyncio.create_task(watch._watch(stage, watch.WatchOptions(jobs=("llama",), first=first)))
    await asyncio.sleep(0)
    await driver.settle()
    assert await watching == Exit.DONE
    lines = streamed(stage)
    assert [line["number"] for line in lines[:-1]] == list(range(last + 1, driver.record.number + 1))
    assert lines[-1]["because"] == "succeeded"


async def test_from_a_revision_between_two_events_begins_with_the_later_one() -> None:
    driver = await running()
    number, revision = driver.record.number, driver.record.revision
    await driver.bus.history.store_bytes(subjects.job("nlp", "other"), b"{}")
    await driver.settle()
    stage = Stage(driver, GlobalFlags(json=True))
    assert await told(stage, first=f"r{revision + 1}") == Exit.DONE
    first = json.loads(stage.said)["data"]["events"][0]
    assert (first["number"], first["revision"]) == (number + 1, revision + 2)


@pytest.mark.parametrize("wrong", ["0", "99", "²", "#", "r²", "9" * 5000, "-1"])
@pytest.mark.parametrize("which", ["first", "last"])
async def test_an_event_further_ahead_or_none_at_all_is_exit_3(wrong: str, which: str) -> None:
    with pytest.raises(CliError) as caught:
        await told(Stage(await succeeded()), **{which: wrong})
    assert caught.value.code == "no-such-event"


async def test_following_the_history_of_a_settled_job_prints_it_and_ends_as_a_stream_does() -> None:
    stage = Stage(driver := await succeeded(), GlobalFlags(json=True))
    assert await told(stage, follow=True) == Exit.DONE
    lines = streamed(stage)
    assert [line["number"] for line in lines[:-1]] == list(range(1, driver.record.number + 1))
    assert lines[-1] == {"job": "llama", "kind": "end", "because": "succeeded", "revision": driver.record.revision}


async def test_following_the_history_of_a_failed_job_is_no_failure_of_history() -> None:
    driver = Driver()
    await driver.submit("exit 3")
    await driver.settle()
    stage = Stage(driver)
    assert await told(stage, follow=True) == Exit.DONE
    assert len(stage.said.splitlines()) == driver.record.number


async def test_following_ends_at_the_event_that_to_names_also_when_it_is_yet_to_come() -> None:
    driver = await running()
    to = driver.record.number + 1
    stage = Stage(driver, GlobalFlags(json=True))
    following = asyncio.create_task(told(stage, follow=True, first="2", last=str(to)))
    await asyncio.sleep(0)
    await driver.settle()
    assert await following == Exit.DONE
    lines = streamed(stage)
    assert [line["number"] for line in lines[:-1]] == list(range(2, to + 1))
    assert lines[-1]["because"] == "to"


async def test_following_in_full_adds_revision_id_and_fields() -> None:
    driver = await succeeded()
    stage = Stage(driver, GlobalFlags(json=True))
    await told(stage, follow=True, full=True, last="1")
    assert streamed(stage)[0]["stored"]["event"]["event"]["type"] == "JobSubmitted"
    stage = Stage(driver)
    await told(stage, follow=True, full=True, last="1")
    first, fields = stage.said.splitlines()
    assert first.split()[-2] == "r1"
    assert json.loads(fields)["type"] == "JobSubmitted"
