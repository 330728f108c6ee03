"""Each exit code is reached by the program, on a real bus and real processes; the table is that of the reference."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from dispatch.cli.exits import Exit
from tests.acceptance.conftest import Here, Type, line_with
from tests.servers.nats import NatsNode

ROOT = Path(__file__).parents[2]
RUN = "version: 1\nstop_grace: 1s\nrun: {command: [sh, -c, '%s']}\nrecovery: %s\n"
ENDLESS = RUN % ("exec sleep 600", "[]")
CRASHING = RUN % ("exit 3", "[]")
ASKING = RUN % ("exit 3", "[{name: look, on: [any], do: hold}]")
Reach = Callable[[Here, Type], int]


def running(here: Here, dispatch: Type, name: str) -> None:
    assert dispatch("submit", here.write(f"{name}.yaml", ENDLESS), "--name", name).code == 0
    assert dispatch("watch", name, "--until", "running", "--timeout", "60s").code == 0


def fault(here: Here, dispatch: Type) -> int:
    def broken(*_: object) -> None:
        raise RuntimeError("unforeseen")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dispatch.config.resolve", broken)
        return dispatch("list").code


def open_credentials(here: Here, dispatch: Type) -> int:
    creds = here.folder / "open.creds"
    creds.write_text("x")
    creds.chmod(0o644)
    return dispatch("list", "--nats", "nats://127.0.0.1:9", "--creds", str(creds)).code


def undecided(here: Here, dispatch: Type) -> int:
    """A bus without any supervisor."""
    alone = NatsNode(here.folder / "alone")
    asyncio.run(alone.start())
    try:
        at = ("--nats", alone.url, "--tenant", "nlp")
        assert dispatch("setup", "--replicas", "1", "--shards", "1", *at).code == 0
        words = ("cancel", "later", "--if-unknown", "record", "--reason", "x", "-y", "--timeout", "1s")
        return dispatch(*words, *at).code
    finally:
        alone.kill()


def timed_out(here: Here, dispatch: Type) -> int:
    running(here, dispatch, "on")
    return dispatch("watch", "on", "--timeout", "1s").code


def failed(here: Here, dispatch: Type) -> int:
    return dispatch("submit", here.write("crash.yaml", CRASHING), "--name", "crash", "--wait").code


def cancelled(here: Here, dispatch: Type) -> int:
    running(here, dispatch, "gone")
    assert dispatch("cancel", "gone", "--reason", "x", "-y", "--wait=proven", "--timeout", "60s").code == 0
    return dispatch("watch", "gone").code


def needs_person(here: Here, dispatch: Type) -> int:
    words = ("submit", here.write("ask.yaml", ASKING), "--name", "ask", "--wait", "--until", "action")
    return dispatch(*words, "--timeout", "60s").code


def ended_by(number: signal.Signals) -> Reach:
    def reach(here: Here, dispatch: Type) -> int:
        name = f"left-{int(number)}"
        running(here, dispatch, name)
        watching = here.start("watch", name)
        line_with(watching, b"Ctrl-C leaves, the job goes on")
        watching.send_signal(number)
        return watching.wait(30)

    return reach


def typed(*words: str) -> Reach:
    return lambda _, dispatch: dispatch(*words).code


BROKEN = str(next((ROOT / "tests" / "histories" / "broken").glob("l7-*.jsonl")))
REACHED: dict[Exit, Reach] = {
    Exit.DONE: typed("status"),
    Exit.FAULT: fault,
    Exit.USAGE: typed("list", "--nodes"),
    Exit.NOT_FOUND: typed("status", "nobody"),
    Exit.REFUSED: typed("retries", "allow", "--cluster", "local", "--reason", "nothing is stopped"),
    Exit.NOT_PERMITTED: open_credentials,
    Exit.UNREACHABLE: typed("list", "--nats", "nats://127.0.0.1:9", "--tenant", "nlp", "--timeout", "1s"),
    Exit.UNDECIDED: undecided,
    Exit.TIMED_OUT: timed_out,
    Exit.CHECK_FAILED: typed("verify", "--file", BROKEN),
    Exit.JOB_FAILED: failed,
    Exit.JOB_CANCELLED: cancelled,
    Exit.NEEDS_PERSON: needs_person,
    Exit.INTERRUPTED: ended_by(signal.SIGINT),
    Exit.TERMINATED: ended_by(signal.SIGTERM),
}


@pytest.mark.parametrize("code", REACHED, ids=lambda code: str(int(code)))
def test_the_code_is_reached(code: Exit, here: Here, dispatch: Type) -> None:
    assert REACHED[code](here, dispatch) == code


def test_no_code_is_promised_that_no_test_reaches() -> None:
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text()
    table = page.partition("## Codes of the command line")[0]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == [int(code) for code in REACHED]
