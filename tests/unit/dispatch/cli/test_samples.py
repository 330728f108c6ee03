"""What a person is shown, situation by situation: the shape that the command line's samples promise.

At 80 and 100 columns, and in a pipe; `test_views` holds what is true of every situation of one job.
"""

from __future__ import annotations

import asyncio
import io
import json
import re

import pytest

from dispatch.cli.columns import cells
from dispatch.cli.commands import history, listing, watch
from dispatch.cli.commands.watch import WatchOptions
from dispatch.cli.exits import Exit
from dispatch.cli.following import Goal, follow
from dispatch.cli.params import GlobalFlags
from dispatch.cli.progress import Progress
from dispatch.cli.screen import Screen
from dispatch.cli.views.plan import plan_lines
from dispatch.jobfile import read_job_file
from projections.fleet import encode, entry_of
from projections.status import Around
from streams.errors import BusUnreachableError
from streams.messages.calls import Capabilities, Inspection
from streams.messages.events import Entry
from streams.messages.values import Phase
from streams.subjects import CONTROLS
from tests.driver import Driver
from tests.unit.dispatch.cli.scenes import (
    SCENES,
    duplicates,
    foreign,
    pods_remain,
    preempted_twice,
    queued,
    running,
    unreadable,
)
from tests.unit.dispatch.cli.stage import EXAMPLES, Stage
from tests.unit.dispatch.cli.test_views import asked, shown

WIDTHS = (80, 100, None)


# status


async def test_a_lost_reply_and_its_duplicate_are_told_attempt_by_attempt() -> None:
    text = "\n".join(shown(await duplicates(), 100))
    assert re.search(r"^1/1 +1 +canonical +gated +\S+ +reply lost, found by its tag$", text, re.MULTILINE)
    assert re.search(r"^1/2 +2 +retired +gated +\S+ +retired$", text, re.MULTILINE)
    assert "WAITS FOR  2 to be stopped, before 1 may start" in text
    assert re.search(r"^CALLS    stop sent \S+, over \S+ at the latest$", text, re.MULTILINE)


async def test_a_preempted_run_whose_pods_remain_is_waited_for_and_needs_a_person_after_a_while() -> None:
    driver = await pods_remain()
    text = "\n".join(shown(driver, 100))
    assert re.search(r"^WAITS FOR  the end of 1\.1, before another run may begin +8m, by itself$", text, re.MULTILINE)
    assert "because  ns/llama-s1a1 is ending on k1-k2: preempted" in text
    assert re.search(r"^  ends     a Find shows it ended: its \w+ are gone$", text, re.MULTILINE)
    await driver.pass_time(600)
    assert "NEEDS A PERSON" in shown(driver, 100)[0]


@pytest.mark.parametrize("width", WIDTHS)
async def test_a_finished_job_says_how_its_earlier_executions_ended_and_what_it_used(width: int | None) -> None:
    text = " ".join(" ".join(shown(await preempted_twice(), width)).split())
    assert re.match(r"llama SUCCEEDED settled #\d+ · ran 13m30s in 3 executions \(2 preempted\)", text)
    assert " 4 GPU-hours" in text


async def test_an_object_of_nobodys_and_a_message_that_nobody_can_read_are_alerts_with_lines_to_paste() -> None:
    lines = shown(await foreign(), 100)
    assert "NEEDS A PERSON  foreign!" in lines[0]
    assert '  you can  dispatch dispose llama 2 --as ignore --reason "…"' in lines
    lines = shown(await unreadable(), 100)
    assert "NEEDS A PERSON  quarantined!" in lines[0]
    assert any('dispatch dispose llama --message r10 --as ignore --reason "…"' in line for line in lines)


# why


async def test_why_says_of_a_limit_that_the_queue_does_not_allow_that_it_will_not_end_as_it_is() -> None:
    driver = await queued()
    said = Inspection(pending_reason="PartitionTimeLimit")
    lines = asked(driver, inspections=((driver.ref, said),), capabilities=await driver.capabilities())
    assert re.match(r"queued 4h10m on sim: PartitionTimeLimit +will not end as it is$", lines[0])
    assert "  ends: nothing, as it is: cancel, then submit with what the cluster allows" in lines


# watch


class LostBus:
    """A history of which reads of one name fail, by their place."""

    def __init__(self, driver: Driver, name: str, failing: range) -> None:
        self._history = driver.bus.history
        self.name = name
        self.failing = failing
        self.reads = 0
        driver.bus.history = self  # type: ignore[assignment]

    async def read(self, tenant: str, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        self.reads += job == self.name
        if job == self.name and self.reads in self.failing:
            raise BusUnreachableError("nats://a: connection lost")
        return await self._history.read(tenant, job, after=after)


async def test_a_watch_survives_a_lost_bus_and_says_where_it_resumed() -> None:
    driver = await running()
    stage = Stage(driver, GlobalFlags(timeout=2.0))
    lost = LostBus(driver, "llama", range(3, 6))
    async with stage.session() as session:
        assert await follow(session, "llama", Goal("ended")) == Exit.TIMED_OUT
    assert lost.reads > 5
    assert "the bus does not answer; waiting for it" in stage.hinted
    assert re.search(r"^bus lost \d+s, resumed at #9$", stage.hinted, re.MULTILINE)


async def test_a_bus_that_is_lost_between_two_reads_does_not_keep_a_watch_from_its_end() -> None:
    driver = Driver()
    await driver.submit("sleep 60")
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    stage = Stage(driver, GlobalFlags(timeout=5.0))
    lost = LostBus(driver, CONTROLS, range(2, 3))  # the job's new events are read; what is around them is not
    async with stage.session() as session:
        following = asyncio.create_task(follow(session, "llama", Goal()))
        while not stage.said:
            await asyncio.sleep(0)
        await driver.settle()
        assert await following == Exit.DONE
    assert lost.reads == 3


async def test_watching_several_jobs_names_each_and_exits_with_the_highest_code() -> None:
    driver = await preempted_twice()
    other = Driver(job="bert")
    other.bus, other.hands = driver.bus, driver.hands
    await other.cancel_unknown()
    await other.settle()
    stage = Stage(driver, GlobalFlags(timeout=2.0))
    assert await watch._watch(stage, WatchOptions(jobs=("llama", "bert"))) == Exit.JOB_CANCELLED
    assert {line.split()[0] for line in stage.said.splitlines()} == {"llama", "bert"}


# history


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("width", WIDTHS)
async def test_every_event_is_one_line_of_which_only_the_sentence_is_cut(scene: str, width: int | None) -> None:
    driver = await SCENES[scene]()
    stage = Stage(driver, width=width)
    await history._history(stage, history.HistoryOptions(job="llama"), None)
    lines = stage.said.splitlines()
    assert len(lines) == driver.record.number
    assert all(cells(line) <= (width or 1000) for line in lines)
    assert (width is None) or all(line.split()[-1] for line in lines)
    if width is None:
        assert "…" not in stage.said


async def test_a_message_that_cannot_be_read_stands_in_its_place_whatever_kinds_are_asked_for() -> None:
    stage = Stage(await unreadable())
    await history._history(stage, history.HistoryOptions(job="llama", only="command"), frozenset({"command"}))
    assert [line.split()[0] for line in stage.said.splitlines()] == ["1", "10"]
    assert re.search(r"^10  .+  \?  +\?  +cannot be read: .+  quarantined$", stage.said, re.MULTILINE)


async def test_a_history_that_is_followed_with_json_is_a_stream_that_ends_with_its_reason() -> None:
    stage = Stage(await running(), GlobalFlags(json=True, timeout=0.3))
    options = history.HistoryOptions(job="llama", follow=True, first="8")
    assert await history._history(stage, options, None) == Exit.TIMED_OUT
    lines = [json.loads(line) for line in stage.said.splitlines()]
    assert [line.get("number") for line in lines] == [8, 9, None]
    assert (lines[-1]["kind"], lines[-1]["because"]) == ("end", "timeout")


# list


@pytest.mark.parametrize("width", WIDTHS)
async def test_a_job_on_a_cluster_that_is_silent_is_listed_as_of_when_it_was_last_seen(width: int | None) -> None:
    driver = await running()
    read_at = driver.record.as_of
    await driver.pass_time(14 * 60)
    entry = entry_of(driver.record, Around(now=driver.at, cluster_read_at=read_at, unreachable_since=read_at))
    await driver.bus.buckets.put_status(entry.key, encode(entry), expected=None)
    stage = Stage(driver, width=width)
    await listing._listing(stage, listing.ListOptions())
    header, _, row = stage.said.splitlines()[:3]
    assert "sim UNREACHABLE" in header
    assert row.split()[:2] == ["llama", "running"]
    assert row.rstrip().endswith("sim      ana")


# submit


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["local", "slurm", "kubeflow", "kueue"])
def test_the_plan_of_every_example_fits_and_tells_what_follows_each_end(name: str, width: int | None) -> None:
    job = read_job_file((EXAMPLES / f"{name}.yaml").read_bytes())
    assert job.plan is not None
    lines = plan_lines("llama-7b-k3f9q", job.spec, job.plan, Capabilities(kind="slurm", call_bound_s=412), width=width)
    header = next(number for number, line in enumerate(lines) if line.split()[:1] == ["WHEN"])
    assert lines[header].split() == ["WHEN", "IT", "ENDS", "BY", "THEN", "AT", "MOST", "WAIT", "WHEN", "SPENT"]
    assert len(lines) - header - 1 >= len(job.plan.rules)
    assert all(cells(line) <= (width or 1000) for line in [lines[0], *lines[header:]])
    assert lines[0].endswith("nothing was sent")


# progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress(err: io.StringIO, *seconds: float, quiet: bool = False) -> str:
    """What is written of counts that are reached so many seconds after the beginning."""
    now = 0.0
    told = Progress(Screen(io.StringIO(), err, quiet=quiet), "folded", 10_000, clock=lambda: now)
    for count, now in enumerate(seconds, 3_200):  # noqa: B007  the clock reads it
        told.at(count)
    told.done()
    return err.getvalue()


def test_progress_is_redrawn_on_a_terminal_after_a_second_and_gone_at_the_end() -> None:
    assert progress(Terminal(), 0.5, 1.1) == "\rfolded 3,201 of 10,000\x1b[K\r\x1b[K"
    assert progress(Terminal(), 0.5) == ""


def test_progress_in_a_pipe_is_a_line_every_half_minute() -> None:
    told = progress(io.StringIO(), 1.1, 29.0, 30.5, 31.0, 60.9, 61.0)
    assert told == "folded 3,202 of 10,000\nfolded 3,204 of 10,000\n"


def test_progress_is_silent_with_quiet() -> None:
    assert progress(io.StringIO(), 50.0, 99.0, quiet=True) == ""
    assert progress(Terminal(), 50.0, 99.0, quiet=True) == ""
