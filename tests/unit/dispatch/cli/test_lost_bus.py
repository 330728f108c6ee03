"""A bus that goes away after something was sent: what stands is told, what waits goes on waiting."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from dispatch.cli import output, sent
from dispatch.cli.commands import cancel, retries, submit
from dispatch.cli.commands.logs import LogsOptions
from dispatch.cli.commands.submit import SubmitOptions
from dispatch.cli.ending import end_with
from dispatch.cli.exits import Exit
from dispatch.cli.params import ChangeFlags, GlobalFlags
from dispatch.cli.patience import Patience
from dispatch.replica.beat import Beat
from streams.errors import BusClosedError, BusUnreachableError, NotPermittedError, StreamError
from streams.messages.commands import Command
from streams.messages.values import Phase
from streams.subjects import CONTROLS
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import EXAMPLES, Stage, decide
from tests.unit.dispatch.cli.test_rank_output import ran, stage, streamed
from tests.unit.dispatch.cli.test_samples import LostBus

MINE = ChangeFlags(reason="x", yes=True, command_id="c-mine")
YES = ChangeFlags(reason="x", yes=True)
CLOSED = BusClosedError("the connection to the bus was closed for good: user authentication expired")
AWAY = BusUnreachableError("nobody listens")


@pytest.fixture(autouse=True)
def nothing_sent() -> Iterator[None]:
    sent.forget()
    yield
    sent.forget()


def options(*more: str, **given: Any) -> SubmitOptions:
    settings = ("cluster=sim", "recovery=[]", "run.command=[sh, -c, sleep 60]", *more)
    return SubmitOptions(**{"file": str(EXAMPLES / "local.yaml"), "name": "llama", "settings": settings, **given})


async def running(job: str = "llama", beside: Driver | None = None) -> Driver:
    driver = Driver(job=job)
    if beside is not None:
        driver.bus, driver.hands = beside.bus, beside.hands
    await driver.submit("sleep 100000")
    return driver


async def three() -> Driver:
    driver = await running()
    for name in ("bert", "moe"):
        await running(name, driver)
    return driver


class Publishing:
    """The commands of a bus, of which some publishes fail, by their place."""

    def __init__(self, driver: Driver, failing: dict[int, StreamError]) -> None:
        self._commands = driver.bus.commands
        self.failing = failing
        self.asked: list[str] = []
        driver.bus.commands = self  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._commands, name)

    async def publish(self, command: Command, *, actor: str) -> int:
        self.asked.append(command.job)
        if (error := self.failing.get(len(self.asked))) is not None:
            raise error
        return await self._commands.publish(command, actor=actor)


# what ends a command after something was sent


async def test_a_submit_that_stands_is_told_when_its_wait_loses_the_connection_and_the_code_is_7(
    capsys: pytest.CaptureFixture[str],
) -> None:
    driver = Driver()
    shown = Stage(driver, change=ChangeFlags(command_id="c-mine"))

    class Closed(LostBus):
        async def read(self, tenant: str, job: str, *, after: int = 0) -> Any:
            if after:
                raise CLOSED
            return await super().read(tenant, job, after=after)

    Closed(driver, "llama", range(0))
    with pytest.raises(BusClosedError) as caught:
        await submit._submit(shown, options(wait=True))
    assert "llama  accepted #1 " in shown.said
    assert end_with(caught.value, ["submit", "llama.yaml", "--wait"]) == Exit.UNDECIDED
    assert capsys.readouterr().err.splitlines() == [
        "error: the bus does not answer",
        f"  why   {CLOSED}",
        "        the submit of llama stands (command c-mine)",
        "  do    dispatch context show     which servers, and where they came from",
        "  code  bus-lost (exit 7)",
    ]
    assert end_with(caught.value, ["submit", "llama.yaml", "--wait", "--json"]) == Exit.UNDECIDED
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["exit"]) == ("bus-lost", 7)
    assert error["why"][-1] == "the submit of llama stands (command c-mine)"


@pytest.mark.parametrize(
    ("error", "code"),
    [(NotPermittedError("receipts"), Exit.NOT_PERMITTED), (RuntimeError("unforeseen"), Exit.FAULT)],
    ids=["not permitted", "fault"],
)
def test_whatever_else_ends_a_command_also_says_what_stands(
    error: Exception, code: Exit, capsys: pytest.CaptureFixture[str]
) -> None:
    sent.begun("c-1", "cancel of llama")
    assert end_with(error, ["cancel", "llama"]) == code
    told = capsys.readouterr().err
    assert "        the cancel of llama may take effect (command c-1)\n" in told
    assert "nothing was" not in told


# several commands


async def test_what_was_accepted_is_shown_when_the_bus_is_lost_before_the_next_command() -> None:
    driver = await three()
    bus = Publishing(driver, {2: AWAY})
    shown = Stage(driver, change=YES)
    assert await cancel._cancel(shown, cancel.CancelOptions(jobs=("llama", "bert", "moe"))) is Exit.UNDECIDED
    assert re.match(r"llama  accepted #\d+: .+\n$", shown.said)
    assert bus.asked == ["llama", "bert"]
    told = [line for line in shown.hinted.splitlines() if line.startswith(("error", "  code"))]
    assert told == [
        "error: the cancel of bert was not sent: the bus does not answer",
        "  code  bus-lost (exit 7)",
        "error: the cancel of moe was not sent: the bus does not answer",
        "  code  bus-lost (exit 7)",
    ]
    assert "nothing was sent" not in shown.hinted


async def test_what_was_accepted_is_in_the_document_when_the_bus_is_lost_before_the_next_command() -> None:
    driver = await three()
    Publishing(driver, {2: AWAY})
    shown = Stage(driver, GlobalFlags(json=True, timeout=0.5), YES)
    asked = cancel.CancelOptions(jobs=("llama", "bert"), wait="proven")
    assert await cancel._cancel(shown, asked) is Exit.UNDECIDED
    first, second = json.loads(shown.said)["data"]["results"]
    assert (first["job"], first["outcome"]) == ("llama", "accepted")
    assert (second["job"], second["outcome"], second["error"]["code"]) == ("bert", "unsent", "bus-lost")


async def test_a_command_that_the_bus_refuses_keeps_none_of_the_others_from_being_sent() -> None:
    driver = await three()
    bus = Publishing(driver, {2: NotPermittedError("dispatch.command.nlp.ana.cancel.bert")})
    shown = Stage(driver, change=YES)
    assert await cancel._cancel(shown, cancel.CancelOptions(jobs=("llama", "bert", "moe"))) is Exit.NOT_PERMITTED
    assert bus.asked == ["llama", "bert", "moe"]
    assert [line.split()[0] for line in shown.said.splitlines()] == ["llama", "moe"]
    assert "error: the cancel of bert was not sent: the credentials do not allow this" in shown.hinted


async def test_a_bus_that_is_away_from_the_first_command_on_is_an_error_of_which_nothing_was_sent() -> None:
    driver = await three()
    bus = Publishing(driver, {1: AWAY})
    with pytest.raises(BusUnreachableError):
        await cancel._cancel(Stage(driver, change=YES), cancel.CancelOptions(jobs=("llama", "bert")))
    assert bus.asked == ["llama"]
    assert not sent.anything()


async def test_of_several_controls_the_one_that_was_changed_is_told_when_the_next_is_not_sent() -> None:
    driver = await running()
    for cluster in ("sim", "hpc9"):
        await retries._set(Stage(driver, change=YES), cluster, retries.Wanted(retries="off"))
    sent.forget()
    Publishing(driver, {2: AWAY})
    shown = Stage(driver, change=YES)
    assert await retries._set(shown, None, retries.ALLOW) is Exit.UNDECIDED
    assert re.match(r"hpc9  accepted #\d+: ", shown.said)
    assert "error: the change of the retries was not sent: the bus does not answer\n  why   asked for sim\n" in (
        shown.hinted
    )


# an answer is never lost for what only decorates it


async def test_since_when_a_job_was_there_is_left_out_where_it_cannot_be_read() -> None:
    driver = Driver()
    await submit._submit(Stage(driver), options())
    LostBus(driver, "llama", range(2, 100))  # the supervisor's read is the first
    again = Stage(driver)
    assert await submit._submit(again, options()) is Exit.DONE
    assert again.said.startswith("llama  accepted #1 ")


async def test_a_refusal_is_told_where_what_differs_cannot_be_read() -> None:
    driver = Driver()
    await submit._submit(Stage(driver), options())
    LostBus(driver, "llama", range(2, 100))
    other = Stage(driver)
    assert await submit._submit(other, options("nodes=2")) is Exit.REFUSED
    assert "  code  spec-differs (exit 4)" in other.hinted


async def test_a_change_of_the_retries_is_told_where_what_still_stands_cannot_be_read() -> None:
    driver = await running()
    await retries._set(Stage(driver, change=YES), "sim", retries.Wanted(retries="off"))
    shown = Stage(driver, change=YES)

    class Answered(LostBus):
        async def read(self, tenant: str, job: str, *, after: int = 0) -> Any:
            if shown.said:
                raise AWAY
            return await super().read(tenant, job, after=after)

    Answered(driver, CONTROLS, range(0))
    assert await retries._set(shown, "sim", retries.ALLOW) is Exit.DONE
    assert re.match(r"sim  accepted #\d+: ", shown.said)


async def test_heartbeats_that_cannot_be_read_are_no_proof_that_no_supervisor_is_live(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = Driver()

    async def away() -> dict[str, bytes]:
        raise AWAY

    monkeypatch.setattr(driver.bus.buckets, "replicas", away)
    shown = Stage(driver, GlobalFlags(timeout=0.1), supervised=False)
    assert await submit._submit(shown, options()) is Exit.UNDECIDED
    assert "llama  stored; not decided yet, and whether a supervisor is live cannot be read" in shown.said


# what waits


@pytest.mark.parametrize(
    ("supervisor", "why"),
    [
        (True, "stored, not decided within 0.05s by sv-a"),
        (False, "stored; no supervisor is live: nothing is decided until one starts"),
    ],
    ids=["busy", "none lives"],
)
async def test_a_submit_that_is_followed_says_why_it_has_no_answer_yet_and_waits_on(supervisor: bool, why: str) -> None:
    driver = Driver()
    if supervisor:
        beat = Beat(name="sv-a", version="0.1.0", at=driver.at)
        await driver.bus.buckets.beat("sv-a", msgspec.json.encode(beat), ttl_s=60.0)
    shown = Stage(driver, GlobalFlags(timeout=60.0), supervised=False)
    shown.waits()
    shown.timeout_s = 0.05
    waiting = asyncio.create_task(submit._submit(shown, options(wait=True)))
    while "waiting for it" not in shown.hinted:
        await asyncio.sleep(0)
    assert f"llama  {why}; waiting for it\n" in shown.hinted
    deciding = asyncio.create_task(decide(driver))
    while (await driver.read()).submitted is None:
        await asyncio.sleep(0)
    await driver.settle()
    assert await waiting == Exit.DONE
    deciding.cancel()
    assert "llama  accepted #1 " in shown.said
    assert shown.hinted.count("waiting for it") == 1


async def test_a_submit_that_is_followed_and_never_decided_ends_with_its_wait_as_undecided() -> None:
    shown = Stage(Driver(), GlobalFlags(timeout=0.2), supervised=False)
    shown.waits()
    shown.timeout_s = 0.05
    assert await submit._submit(shown, options(wait=True)) is Exit.UNDECIDED
    assert "llama  stored; no supervisor is live: nothing is decided until one starts\n" in shown.said


async def test_a_cancel_that_waits_for_proof_outlasts_a_lost_bus() -> None:
    driver = await running()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    shown = Stage(driver, GlobalFlags(timeout=20.0), MINE)
    lost = LostBus(driver, "llama", range(4, 6))
    waiting = asyncio.create_task(cancel._cancel(shown, cancel.CancelOptions(jobs=("llama",), wait="proven")))
    while lost.reads < 6:
        await asyncio.sleep(0)
    await driver.read()
    await driver.settle()
    assert await waiting == Exit.DONE
    assert "the bus does not answer; waiting for it" in shown.hinted
    assert "bus lost" in shown.hinted
    assert [line.split()[0] for line in shown.said.splitlines()[1:]] == [
        "asked",
        "committed",
        "stopped",
        "complete",
        "settled",
        "cancelled,",
    ]


async def test_a_submit_that_is_followed_waits_for_a_bus_that_is_away_at_its_first_read() -> None:
    driver = Driver()
    shown = Stage(driver, GlobalFlags(timeout=20.0))
    lost = LostBus(driver, "llama", range(2, 4))
    waiting = asyncio.create_task(submit._submit(shown, options(wait=True)))
    while lost.reads < 4:
        await asyncio.sleep(0)
    await driver.settle()
    assert await waiting == Exit.DONE
    assert "the bus does not answer; waiting for it" in shown.hinted
    assert re.search(r"^llama  SUCCEEDED ", shown.said, re.MULTILINE)


async def test_logs_that_are_followed_outlast_a_lost_bus(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = await ran(Phase.RUNNING)
    shown, _ = stage(monkeypatch, driver, b"a\n", as_json=False)
    shown.wait_until = None
    lost = LostBus(driver, "llama", range(2, 4))
    following = asyncio.create_task(output.show_output(shown, LogsOptions(job="llama", ranks="1", follow=True)))
    while lost.reads < 4:
        await asyncio.sleep(0)
    await driver.settle()
    assert await following == Exit.DONE
    assert "the bus does not answer; waiting for it" in shown.hinted


async def test_logs_that_are_followed_end_with_their_time_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = await ran(Phase.RUNNING)
    shown, _ = stage(monkeypatch, driver, b"a\n")
    assert await output.show_output(shown, LogsOptions(job="llama", ranks="1", follow=True)) == Exit.TIMED_OUT
    assert streamed(shown)[-1] == {"kind": "end", "because": "timeout", "revision": driver.record.revision}


async def test_a_read_that_never_ends_ends_with_the_wait_and_is_not_told_as_a_lost_bus() -> None:
    shown = Stage(Driver(), GlobalFlags(timeout=0.05))
    patience = Patience(shown)

    async def never() -> int:
        return await asyncio.Future()

    assert await patience.ask(never) is None
    assert patience.over
    assert shown.hinted == ""


async def test_a_wait_is_counted_from_the_start_of_the_command() -> None:
    driver = await running()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    shown = Stage(driver, GlobalFlags(timeout=30.0), MINE)
    assert shown.wait_until is not None
    shown.wait_until -= 30.0  # as if all of it had gone by before the wait
    assert await cancel._cancel(shown, cancel.CancelOptions(jobs=("llama",), wait="proven")) is Exit.TIMED_OUT
    assert "--timeout ended the wait; the cancel of llama stands and goes on" in shown.hinted
