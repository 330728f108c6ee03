"""Leaving the tool says what stands of what it sent, whatever it was doing when it was told to leave."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import pytest

from dispatch.cli import sent
from dispatch.cli.commands import cancel, hold, retries
from dispatch.cli.exits import Exit
from dispatch.cli.main import _interrupted, _terminated, run
from dispatch.cli.params import ChangeFlags, GlobalFlags
from streams.errors import BusUnreachableError, UndecidedError
from streams.messages.values import Phase
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import Stage

YES = ChangeFlags(reason="x", yes=True)
MINE = ChangeFlags(reason="x", yes=True, command_id="c-mine")


@pytest.fixture(autouse=True)
def nothing_sent() -> Iterator[None]:
    sent.forget()
    yield
    sent.forget()


async def running() -> Driver:
    driver = Driver()
    await driver.submit("sleep 100000")
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    return driver


async def test_ctrl_c_during_the_wait_for_a_cancel_says_that_the_cancel_stands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stage = Stage(await running(), GlobalFlags(timeout=30.0), MINE)
    waiting = asyncio.create_task(cancel._cancel(stage, cancel.CancelOptions(jobs=("llama",), wait="stopped")))
    while "committed" not in stage.said:
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert _interrupted() == 130
    assert capsys.readouterr().err == "interrupted; the cancel of llama stands (command c-mine)\n"
    with pytest.raises(SystemExit) as left:
        _terminated(15, None)
    assert left.value.code == 143
    assert capsys.readouterr().err == "terminated; the cancel of llama stands (command c-mine)\n"


async def test_ctrl_c_before_the_bus_has_answered_says_that_it_may_take_effect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = await running()
    publishing = asyncio.Event()

    async def unanswered(*_: object, **__: object) -> int:
        publishing.set()
        return await asyncio.Future()

    monkeypatch.setattr(driver.bus.commands, "publish", unanswered)
    ordered = asyncio.create_task(hold._hold(Stage(driver, change=MINE), hold.HoldOptions(jobs=("llama",))))
    await publishing.wait()
    ordered.cancel()
    await asyncio.gather(ordered, return_exceptions=True)
    assert sent.left() == "the hold of llama may take effect (command c-mine)"


async def test_what_was_never_acknowledged_may_take_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = await running()

    async def lost(*_: object, **__: object) -> int:
        raise UndecidedError("dispatch.command.nlp.ana.hold.llama", "c-mine")

    monkeypatch.setattr(driver.bus.commands, "publish", lost)
    assert await hold._hold(Stage(driver, change=MINE), hold.HoldOptions(jobs=("llama",))) is Exit.UNDECIDED
    assert sent.left() == "the hold of llama may take effect (command c-mine)"


async def test_what_could_not_be_sent_does_not_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = await running()

    async def unreachable(*_: object, **__: object) -> int:
        raise BusUnreachableError("no server answers")

    monkeypatch.setattr(driver.bus.commands, "publish", unreachable)
    with pytest.raises(BusUnreachableError):
        await hold._hold(Stage(driver, change=MINE), hold.HoldOptions(jobs=("llama",)))
    assert sent.left() == "no command was sent"


async def test_a_refused_command_does_not_stand_and_the_retries_have_no_job() -> None:
    driver = await running()
    await retries._set(Stage(driver, change=YES), "sim", retries.Wanted(retries="off"))
    assert re.match(r"the change of the retries stands \(command c-\w+\)$", sent.left())
    sent.forget()
    await driver.cancel()
    assert await hold._hold(Stage(driver, change=MINE), hold.HoldOptions(jobs=("llama",))) is Exit.REFUSED
    assert sent.left() == "the hold of llama was refused (command c-mine)"


async def test_a_question_that_was_not_answered_and_a_dry_run_have_sent_nothing() -> None:
    dry = ChangeFlags(reason="x", dry_run=True)
    assert await hold._hold(Stage(await running(), change=dry), hold.HoldOptions(jobs=("llama",))) is Exit.DONE
    assert sent.left() == "no command was sent"


def test_of_many_commands_the_first_are_named_and_the_rest_counted() -> None:
    for number in range(6):
        sent.begun(f"c-{number}", f"cancel of j-{number}")
        sent.became(f"c-{number}", sent.Fate.STANDS)
    assert sent.left().startswith("the cancel of j-0 stands (command c-0); the cancel of j-1 stands (command c-1); ")
    assert sent.left().endswith("; and 2 more")


def test_each_command_line_begins_with_nothing_sent(capsys: pytest.CaptureFixture[str]) -> None:
    sent.begun("c-1", "cancel of llama")
    assert run(["--help"]) == 0
    assert sent.left() == "no command was sent"
