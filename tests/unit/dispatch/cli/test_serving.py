"""What an operator types about a whole cluster or a whole history: tried without doing it, and confirmed by name."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import structlog

from dispatch.cli.commands import setup
from dispatch.cli.errors import CliError
from dispatch.cli.main import run
from dispatch.cli.params import ChangeFlags
from dispatch.exporting import Manifest
from dispatch.exposition import AddressError
from streams.errors import BusClosedError, BusUnreachableError, SettingsError
from streams.jetstream.setup import SetupReport
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import Stage

GONE = ["agent", "gone", "--cluster", "old", "--reason", "sold", "--tenant", "nlp", "--nats", "nats://127.0.0.1:9"]

MANIFEST = Manifest(
    at=datetime(2026, 1, 1, tzinfo=UTC),
    installation="d0123",
    generation=1,
    tenants=("nlp",),
    jobs=1,
    events=9,
    bytes=1000,
    sha256="0" * 64,
    first_revision=1,
    last_revision=9,
    whole=True,
)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The clusters that an agent began to serve."""
    begun: list[str] = []

    async def serve(_settings: object, options: Any, *_: object) -> None:
        begun.append(options.cluster)

    monkeypatch.setattr("dispatch.agent.serve", serve)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    return begun


def test_a_dry_run_of_agent_gone_asks_sends_and_serves_nothing(
    served: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*GONE, "--dry-run", "--confirm", "old"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("would answer for old as gone, by ")
    assert said.endswith("nothing was sent, and nothing is served\n")
    assert run([*GONE, "--dry-run"]) == 0
    assert (served, list(tmp_path.iterdir())) == ([], [])
    capsys.readouterr()
    assert run([*GONE, "--confirm", "old"]) == 0
    assert served == ["old"]
    assert capsys.readouterr().err.startswith("--nats 127.0.0.1:9 · nlp @ old     answer for old as gone\n")


def test_a_dry_run_of_agent_gone_still_wants_its_cluster_and_its_reason(
    served: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["agent", "gone", "--dry-run", "--reason", "sold"]) == 2
    assert run(["agent", "gone", "--dry-run", "--cluster", "old"]) == 2
    capsys.readouterr()
    assert run([*GONE, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["answer"] == "accepted"
    assert served == []


@pytest.mark.parametrize("words", [["agent", "local", "--nats", "nats://127.0.0.1:9"], [*GONE, "--confirm", "old"]])
def test_an_agent_logs_as_json_where_it_is_asked_to(
    words: list[str], served: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for flags, as_json in (([], False), (["--log-json"], True)):
        assert run([*words, *flags]) == 0
        structlog.get_logger("adapters.remote.agent").info("agent is live", cluster="rig")
        (line,) = [line for line in capsys.readouterr().err.splitlines() if "agent is live" in line]
        assert line.startswith("{") is as_json
        if as_json:
            assert json.loads(line)["cluster"] == "rig"
    assert len(served) == 2


@pytest.fixture
def lost(served: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica and an agent whose connection is closed for good while they serve."""

    async def closed(*_: object) -> None:
        raise BusClosedError("the connection to the bus was closed for good: user authentication expired")

    @contextlib.asynccontextmanager
    async def ready(_: object) -> AsyncIterator[None]:
        yield

    monkeypatch.setattr("dispatch.agent.serve", closed)
    monkeypatch.setattr("dispatch.supervise.ready", ready)
    monkeypatch.setattr("dispatch.supervise.work", closed)


@pytest.mark.parametrize(
    ("words", "who"),
    [(["supervise"], "replica"), (["agent", "local"], "agent"), ([*GONE[:6], "--confirm", "old"], "agent")],
)
def test_what_served_and_loses_its_connection_never_says_that_nothing_was_sent(
    words: list[str], who: str, lost: None, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*words, "--nats", "nats://127.0.0.1:9"]
    assert run(words) == 6
    error = capsys.readouterr().err.partition("error: ")[2].splitlines()
    assert error[0] == f"this {who} has ended: the bus does not answer"
    assert error[2:] == [
        "  do    start it again",
        "        dispatch context show     which servers, and where they came from",
        "  code  bus-unreachable (exit 6)",
    ]


def test_a_replica_that_cannot_start_ends_as_every_command_does(
    served: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def unreachable(_: object) -> None:
        raise BusUnreachableError("no connection to nats://127.0.0.1:9")

    monkeypatch.setattr("dispatch.supervise.connect", unreachable)
    away = ["supervise", "--nats", "nats://127.0.0.1:9"]
    assert run(away) == 6
    told = capsys.readouterr()
    assert told.err.startswith("error: the bus does not answer; nothing was sent\n  why   no connection to ")
    assert told.err.endswith("  code  bus-unreachable (exit 6)\n")
    assert run([*away, "--json"]) == 6
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["error"]["code"]) == ("dispatch.supervise/1", "bus-unreachable")
    assert run([*away, "--clusters", "Bad Name"]) == 2
    assert capsys.readouterr().err.startswith("error: this replica cannot run\n  why   cluster 'Bad Name' must be ")


def test_a_replica_on_a_bus_that_is_not_safe_names_what_differs_and_the_doctor(
    served: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def unsafe(_: object) -> None:
        raise SettingsError(("history has discard=old, needs new", "history has max_age 30d, must be none"))

    monkeypatch.setattr("dispatch.supervise.connect", unsafe)
    assert run(["supervise", "--nats", "nats://127.0.0.1:9"]) == 6
    assert capsys.readouterr().err.splitlines() == [
        "error: the bus is not set as safety needs; nothing was sent",
        "  why   history has discard=old, needs new",
        "        history has max_age 30d, must be none",
        "  do    dispatch doctor bus       every difference and what to change",
        "  code  unsafe-settings (exit 6)",
    ]


def test_metrics_that_cannot_be_served_are_a_mistake_of_the_line(
    lost: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(*_: object) -> None:
        raise AddressError("'nine' is no HOST:PORT, such as 127.0.0.1:9100 or :9100")

    monkeypatch.setattr("dispatch.supervise.work", work)
    assert run(["supervise", "--nats", "nats://127.0.0.1:9", "--metrics", "nine"]) == 2
    assert "  why   'nine' is no HOST:PORT" in capsys.readouterr().err


def test_a_restore_in_a_protected_context_is_confirmed_with_the_option_that_it_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    stage = Stage(Driver(), change=ChangeFlags()).protected()
    with pytest.raises(CliError) as caught:
        setup._ask(stage, setup.SetupOptions(yes=True), "2 jobs")
    assert caught.value.do == ("the same with --confirm restore",)
    setup._ask(stage, setup.SetupOptions(yes=True, confirm="restore"), "2 jobs")
    with pytest.raises(CliError, match="nothing was sent"):
        setup._ask(stage, setup.SetupOptions(yes=True, confirm="yes"), "2 jobs")
    words = ["setup", "--new-generation", "--from", "no-such-export", "--yes", "--confirm", "restore"]
    assert run(words) == 2
    assert "no-such-export" in capsys.readouterr().err


def test_a_setup_says_which_bus_it_changes_before_it_connects(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said_before: list[str] = []

    async def set_up(*_: object) -> SetupReport:
        said_before.append(capsys.readouterr().err)
        return SetupReport(created=("history-1",), kept=(), generation=1)

    monkeypatch.setattr("dispatch.setup.set_up", set_up)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert run(["setup", "--nats", "nats://admin:hidden@127.0.0.1:9"]) == 0
    assert said_before == ["--nats 127.0.0.1:9     make what is missing\n"]


def test_a_restore_that_needs_no_answer_says_which_bus_it_changes_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async def loaded(*_: object) -> None:
        raise BusUnreachableError("nobody listens")

    monkeypatch.setattr("dispatch.cli.commands.setup._loaded", loaded)
    monkeypatch.setattr("dispatch.exporting.read_manifest", lambda _: MANIFEST)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    words = ["setup", "--new-generation", "--from", "all.jsonl", "--yes", "--nats", "nats://127.0.0.1:9"]
    assert run(words) == 6
    assert capsys.readouterr().err.startswith("--nats 127.0.0.1:9     restore all.jsonl\nerror: ")
