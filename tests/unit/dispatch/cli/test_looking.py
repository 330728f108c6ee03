"""Commands that only read: history, watch, list, verify, logs; they need the bus alone."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dispatch.cli.commands import history, listing, status, why
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.following import Goal, follow
from dispatch.cli.looking import Beat
from dispatch.cli.params import GlobalFlags
from projections.fleet import FleetEntry, encode, entry_of
from projections.status import Around
from streams.messages.spec import Unmatched
from streams.messages.values import Phase
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import Stage

JSON = GlobalFlags(json=True, timeout=0.5)
STATUS_KEYS = [
    "job",
    "state",
    "alerts",
    "needs_person",
    "as_of",
    "waits",
    "wanted",
    "submissions",
    "objects",
    "executions",
    "budgets",
    "holds",
    "gate",
    "calls",
    "avoids",
    "cancel",
    "outcome",
    "settled",
]


async def succeeded() -> Driver:
    driver = Driver()
    await driver.submit("sleep 60", labels={"project": "x"})
    await driver.settle()
    return driver


async def shelve(driver: Driver) -> FleetEntry:
    """The driver's job in the status bucket, as a replica writes it."""
    entry = entry_of(driver.record, Around(now=driver.at))
    held = await driver.bus.buckets.get_status(entry.key)
    await driver.bus.buckets.put_status(entry.key, encode(entry), expected=held.revision if held else None)
    return entry


async def test_a_unique_beginning_of_a_name_is_enough_to_read() -> None:
    driver = await succeeded()
    await shelve(driver)
    stage = Stage(driver)
    assert await status._one(stage, status.StatusOptions(job="lla"), "lla") is Exit.DONE
    assert stage.said.startswith("llama  SUCCEEDED")


async def test_a_beginning_that_fits_several_lists_them_and_is_exit_3() -> None:
    driver = await succeeded()
    for name in ("llama", "llama-2"):
        await driver.bus.buckets.put_status(f"nlp.{name}", b"{}", expected=None)
    with pytest.raises(CliError) as caught:
        await status._one(Stage(driver), status.StatusOptions(job="ll"), "ll")
    assert (caught.value.code, caught.value.exit_code) == ("several-jobs", Exit.NOT_FOUND)
    assert caught.value.why == ("llama, llama-2",)


@pytest.mark.parametrize("name", ["nobody", "No.Body", "*", ">", ""])
async def test_a_name_that_nobody_has_is_exit_3(name: str) -> None:
    with pytest.raises(CliError) as caught:
        await status._one(Stage(await succeeded()), status.StatusOptions(job=name), name)
    assert caught.value.exit_code is Exit.NOT_FOUND


async def test_the_status_document_has_the_promised_keys_in_their_order() -> None:
    stage = Stage(await succeeded(), JSON)
    await status._one(stage, status.StatusOptions(job="llama"), "llama")
    document = json.loads(stage.said)
    assert list(document) == ["schema", "at", "data"]
    assert document["schema"] == "dispatch.status/1"
    assert list(document["data"]) == STATUS_KEYS
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", document["at"])
    assert document["data"]["cancel"] is None
    assert document["data"]["waits"] == []


async def test_status_at_an_event_tells_what_was_known_then() -> None:
    stage = Stage(await succeeded())
    await status._one(stage, status.StatusOptions(job="llama", at="#4"), "llama")
    assert stage.said.startswith("llama  LAUNCHING")
    assert "as of #4" in stage.said


@pytest.mark.parametrize("event", ["99", "#0", "r999999", "x", "²", "r²", "9" * 5000])
async def test_an_event_that_is_not_there_is_exit_3(event: str) -> None:
    with pytest.raises(CliError) as caught:
        await status._one(Stage(await succeeded()), status.StatusOptions(job="llama", at=event), "llama")
    assert caught.value.code == "no-such-event"


async def test_why_at_an_event_tells_what_would_have_been_done() -> None:
    driver = await succeeded()
    stage = Stage(driver)
    assert await why._why(stage, why.WhyOptions(job="llama", at="5")) is Exit.DONE
    assert stage.said.startswith("next step: ")


async def test_a_submission_can_be_looked_at_alone() -> None:
    driver = await succeeded()
    stage = Stage(driver)
    await status._one(stage, status.StatusOptions(job="llama", submission=1), "llama")
    assert "1/1" in stage.said
    with pytest.raises(CliError, match="llama has no submission 2"):
        await status._one(Stage(driver), status.StatusOptions(job="llama", submission=2), "llama")


# history


async def told(driver: Driver, **given: Any) -> list[str]:
    stage = Stage(driver)
    options = history.HistoryOptions(job="llama", **given)
    await history._history(stage, options, history._kinds(options.only))
    return stage.said.splitlines()


async def test_every_event_is_a_line_with_number_time_kind_who_sentence_and_code() -> None:
    driver = await succeeded()
    lines = await told(driver)
    assert len(lines) == driver.record.number
    assert re.match(r" 1  00:00:00  command   ana   submitted: .+  submitted$", lines[0])
    assert re.match(r"\d\d  \d\d:\d\d:\d\d  decision  sv-a  settled: .+  all-clauses-hold$", lines[-1])


async def test_a_part_of_the_history_and_some_kinds_can_be_chosen() -> None:
    driver = await succeeded()
    assert [line.split()[0] for line in await told(driver, first="3", last="#5")] == ["3", "4", "5"]
    assert {line.split()[2] for line in await told(driver, only="call,command")} == {"call", "command"}
    with pytest.raises(CliError, match="no such kind"):
        await told(driver, only="calls")


async def test_full_adds_revision_id_and_fields() -> None:
    lines = await told(await succeeded(), full=True, last="1")
    assert re.search(r"  r1  \w{26}$", lines[0])
    assert json.loads(lines[1])["type"] == "JobSubmitted"


# watch


async def test_following_a_settled_job_prints_it_and_ends() -> None:
    stage = Stage(await succeeded(), GlobalFlags())
    async with stage.session() as session:
        assert await follow(session, "llama", Goal()) == Exit.DONE
    assert stage.said.startswith("llama  succeeded\n")


async def test_following_prints_what_happens_from_now_on_until_the_end() -> None:
    driver = Driver()
    await driver.submit("sleep 60")
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    stage = Stage(driver, GlobalFlags())
    async with stage.session() as session:
        following = asyncio.create_task(follow(session, "llama", Goal()))
        while not stage.said:
            await asyncio.sleep(0)
        await driver.settle()
        assert await following == Exit.DONE
    lines = stage.said.splitlines()
    assert re.match(r"llama  running, waits( \S+)?: a live supervisor +Ctrl-C leaves, the job goes on$", lines[0])
    assert re.match(r"\d\d:\d\d:\d\d  #10   evidence  .+$", lines[1])
    assert re.match(r"llama  SUCCEEDED  settled #\d+", lines[-1])


async def test_a_stream_ends_with_a_line_that_says_so_and_can_be_resumed() -> None:
    stage = Stage(driver := await succeeded(), GlobalFlags(json=True))
    async with stage.session() as session:
        await follow(session, "llama", Goal(), start=13)
    lines = [json.loads(line) for line in stage.said.splitlines()]
    assert [line.get("number") for line in lines[:-1]] == list(range(13, driver.record.number + 1))
    assert all(isinstance(line["revision"], int) for line in lines)
    assert lines[-1] == {"job": "llama", "kind": "end", "because": "succeeded", "revision": driver.record.revision}


async def test_the_wait_ends_with_its_timeout_and_the_job_goes_on() -> None:
    driver = Driver()
    await driver.submit("sleep 60")
    stage = Stage(driver, GlobalFlags(timeout=0.2))
    async with stage.session() as session:
        assert await follow(session, "llama", Goal()) == Exit.TIMED_OUT
    assert "llama goes on" in stage.hinted


@pytest.mark.parametrize(
    ("until", "exit_code"), [("running", Exit.DONE), ("action", Exit.TIMED_OUT), ("settled", Exit.TIMED_OUT)]
)
async def test_a_goal_is_reached_or_not(until: str, exit_code: Exit) -> None:
    driver = Driver()
    await driver.submit("sleep 60")
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    stage = Stage(driver, GlobalFlags(timeout=0.2))
    async with stage.session() as session:
        assert await follow(session, "llama", Goal(until)) == exit_code


async def test_a_job_that_needs_a_person_ends_a_wait_for_action_with_22() -> None:
    driver = Driver()
    driver.way.lost = {"start"}
    await driver.submit(unmatched=Unmatched.MANUAL)
    await driver.until(lambda d: len(d.record.attempts) == 3)
    stage = Stage(driver, GlobalFlags())
    async with stage.session() as session:
        assert await follow(session, "llama", Goal("action")) == Exit.NEEDS_PERSON


async def test_a_cancelled_job_ends_every_wait_with_21() -> None:
    driver = Driver()
    await driver.submit("sleep 60")
    await driver.cancel()
    await driver.settle()
    for until in ("running", "ended", "settled", "action"):
        stage = Stage(driver, GlobalFlags())
        async with stage.session() as session:
            assert await follow(session, "llama", Goal(until)) == Exit.JOB_CANCELLED


# list


async def listed(driver: Driver, *, width: int | None = None, **given: Any) -> list[str]:
    stage = Stage(driver, width=width)
    await listing._listing(stage, listing.ListOptions(**given))
    return stage.said.splitlines()


async def fleet_of_three() -> Driver:
    driver = Driver()
    driver.way.lost = {"start"}
    await driver.submit(unmatched=Unmatched.MANUAL, nodes=4)
    await driver.until(lambda d: len(d.record.attempts) == 3)
    entry = await shelve(driver)
    for name, state in (("bert-2", "running"), ("done", "succeeded")):
        other = encode(entry).replace(b'"llama"', f'"{name}"'.encode()).replace(b'"launching"', f'"{state}"'.encode())
        other = re.sub(rb'"needs_person":true|"person_at":"[^"]*"', lambda m: m[0].split(b":")[0] + b":null", other)
        other = other.replace(b'"needs_person":null', b'"needs_person":false')
        await driver.bus.buckets.put_status(f"nlp.{name}", other, expected=None)
    return driver


async def test_the_list_has_its_header_and_columns_and_those_that_need_a_person_first() -> None:
    lines = await listed(await fleet_of_three())
    assert re.match(r"prod · nlp · \S+ UTC · 2 open, 1 needs a person · sim ", lines[0])
    assert re.match(r" +JOB +STATE +FOR +WAITS FOR +NODES +CLUSTER +OWNER$", lines[1])
    assert re.match(r"!  llama +launching +\S+ +attempts 1/1-1/3 .+ 4  sim .*ana$", lines[2])
    assert lines[3].split()[:2] == ["bert-2", "running"]
    assert len(lines) == 4


@pytest.mark.parametrize("width", [80, 100])
async def test_the_list_fits_and_only_the_wait_is_cut(width: int) -> None:
    driver = await fleet_of_three()
    lines = await listed(driver, width=width)
    assert max(map(len, lines[1:])) <= width
    assert all(line.rstrip().endswith(("OWNER", "ana")) for line in lines[1:])


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"every": True}, ["llama", "bert-2", "done"]),
        ({"needs_person": True}, ["llama"]),
        ({"state": "running"}, ["bert-2"]),
        ({"state": "succeeded"}, ["done"]),
        ({"mine": True}, ["llama", "bert-2"]),
        ({"labels": ("a=b",)}, []),
        ({"sort": "name"}, ["bert-2", "llama"]),
        ({"limit": 1}, ["llama"]),
        ({"foreign": True}, []),
    ],
)
async def test_jobs_can_be_chosen_and_ordered(given: dict[str, Any], names: list[str]) -> None:
    lines = await listed(await fleet_of_three(), **given)
    found = [line.removeprefix("!").split()[0] for line in lines[2:] if "more:" not in line]
    assert found == names


async def test_a_list_that_was_cut_says_how_many_more_there_are() -> None:
    assert (await listed(await fleet_of_three(), limit=1))[-1] == "1 more: --limit 0"


@pytest.mark.parametrize("given", [{"state": "foo"}, {"labels": ("x",)}])
async def test_a_wrong_choice_is_bad_usage(given: dict[str, Any]) -> None:
    with pytest.raises(CliError) as caught:
        await listed(await succeeded(), **given)
    assert caught.value.exit_code is Exit.USAGE


async def test_the_list_says_how_many_commands_wait_for_a_supervisor() -> None:
    driver = await succeeded()
    stage = Stage(driver, supervised=False)
    async with stage.session() as session:
        await session.client.cancel("other")
    assert "1 command waits on the bus for a supervisor" in (await listed_unsupervised(driver))[-1]


async def listed_unsupervised(driver: Driver) -> list[str]:
    stage = Stage(driver, supervised=False)
    await listing._listing(stage, listing.ListOptions())
    return stage.said.splitlines()


async def test_status_without_a_name_tells_replicas_counts_and_what_needs_a_person() -> None:
    stage = Stage(await fleet_of_three())
    assert await status._everything(stage) is Exit.DONE
    assert "REPLICAS  none is live: nothing is decided until one starts" in stage.said
    assert " dead " not in stage.said
    assert "JOBS      " in stage.said
    assert re.search(r"^!  llama", stage.said, re.MULTILINE)


async def test_status_without_a_name_tells_which_replica_died_and_since_when() -> None:
    stage = Stage(await fleet_of_three())
    buckets, at = stage.driver.bus.buckets, stage.driver.at
    for name, ago, ttl_s in (("sv-a", 180, 0.0), ("sv-b", 2, 60.0), ("sv-c", 1, 60.0)):
        beat = Beat(name=name, version="0.1.0", at=at - timedelta(seconds=ago))
        await buckets.beat(name, msgspec.json.encode(beat), ttl_s=ttl_s)
    await buckets.leave("sv-c")
    assert await status._everything(stage) is Exit.DONE
    assert re.search(r"^REPLICAS  sv-a dead 3m\S* · sv-b live, \ds ago · 0 jobs unattended$", stage.said, re.MULTILINE)


# silence


async def test_a_scheduler_that_does_not_answer_is_told_everywhere_and_nothing_is_decided_from_silence() -> None:
    driver = Driver()
    await driver.submit("sleep 100000")
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    read_at = driver.record.as_of
    await driver.pass_time(14 * 60)
    entry = entry_of(driver.record, Around(now=driver.at, cluster_read_at=read_at, unreachable_since=read_at))
    await driver.bus.buckets.put_status(entry.key, encode(entry), expected=None)
    assert "sim UNREACHABLE" in (await listed(driver))[0]
    everything = Stage(driver)
    await status._everything(everything)
    assert re.search(r"sim UNREACHABLE \S+: 1 jobs? as last seen; nothing is decided from silence", everything.said)
    one = Stage(driver)
    await status._one(one, status.StatusOptions(job="llama"), "llama")
    assert "unreachable" in one.said.splitlines()[0]
    assert "sim UNREACHABLE" in one.said.splitlines()[1]
