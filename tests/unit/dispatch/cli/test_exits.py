"""The exit codes: one table, each code with its meaning, each slug with its code."""

from __future__ import annotations

import io
import re
from pathlib import Path

import click
import pytest

from dispatch.cli.commands.logs import LogsOptions
from dispatch.cli.errors import CliError, told
from dispatch.cli.exits import CODES, MEANINGS, Exit, exit_of
from dispatch.cli.main import run
from dispatch.cli.output import execution_of, show_output
from dispatch.cli.reasons import REASONS
from dispatch.cli.refusals import REFUSALS
from dispatch.cli.screen import screen_for
from dispatch.contexts import ConfigError
from dispatch.jobfile import JobFileError, Mistake
from streams import errors
from streams.messages.reasons import Reason, RefusalCode
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import Stage

TESTS = Path(__file__).parents[3]


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


KEPT = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 21, 22, 130, 143}


def test_the_codes_are_those_that_were_promised() -> None:
    assert {int(code) for code in Exit} == KEPT
    assert set(MEANINGS) == set(Exit)


def test_a_slug_is_stable_and_of_one_list_only() -> None:
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", slug) for slug in CODES)
    assert not {slug for slug in CODES if slug in set(RefusalCode)} - {"no-such-job"}


def test_every_refusal_and_every_reason_is_explained() -> None:
    assert set(REFUSALS) == set(RefusalCode)
    assert set(REASONS) == set(Reason)


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (errors.NotPermittedError("dispatch.command.nlp.ana.cancel.llama"), "not-permitted", 5),
        (errors.BusUnreachableError("nats://a: refused"), "bus-unreachable", 6),
        (errors.SettingsError(("history has discard=old, needs new",)), "unsafe-settings", 6),
        (errors.WrongStreamError("generation 2 is current"), "older-generation", 6),
        (errors.StreamFullError("DISPATCH_HISTORY_1"), "bus-full", 6),
        (errors.TooLargeError("dispatch.job.nlp.llama: 2 MiB"), "message-too-large", 2),
        (errors.UndecidedError("dispatch.job.nlp.llama", "0" * 26), "undecided", 7),
        (errors.CodecError("note is longer than 500"), "bad-command", 2),
        (ConfigError("no bus is named", code="no-bus"), "no-bus", 2),
        (ConfigError("credentials x cannot be read", code="no-credentials", exit_code=5), "no-credentials", 5),
        (JobFileError("a.yaml", [Mistake("nodes", 3, "0 is out of bounds")]), "bad-job-file", 2),
        (click.NoSuchOption("--nodes"), "bad-usage", 2),
        (CliError("no job", code="no-such-job"), "no-such-job", 3),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else None,
)
def test_every_error_has_one_code_and_one_exit(error: Exception, code: str, exit_code: int) -> None:
    found = told(error)
    assert found is not None
    assert (found.code, found.exit_code) == (code, exit_code)


def test_what_nobody_expected_is_a_fault_of_dispatch_itself() -> None:
    assert told(RuntimeError("x")) is None


def test_an_error_says_what_happened_why_and_what_to_do() -> None:
    error = CliError(
        'job "llama-7b" exists with another spec',
        why="submitted 2026-11-28 21:14 by ana; 2 fields differ: nodes, recovery.preempted.budget",
        do=("dispatch submit llama.yaml --new      a new job", "dispatch status llama-7b              the old one"),
        code="spec-differs",
    )
    assert error.lines() == [
        'error: job "llama-7b" exists with another spec',
        "  why   submitted 2026-11-28 21:14 by ana; 2 fields differ: nodes, recovery.preempted.budget",
        "  do    dispatch submit llama.yaml --new      a new job",
        "        dispatch status llama-7b              the old one",
        "  code  spec-differs (exit 4)",
    ]
    assert exit_of("spec-differs") is Exit.REFUSED


def test_every_code_of_the_command_line_is_named_by_a_test() -> None:
    tests = "\n".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    assert [slug for slug in CODES if not re.search(rf'["\s(|]{slug}["\s)(|]', tests)] == []


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        (["--color", "never", "list", "--nodes"], "bad-usage"),
        (["list", "--tenant", "No.Body", "--nats", "nats://127.0.0.1:9"], "bad-settings"),
        (["list", "--nats", "nats://127.0.0.1:9"], "no-tenant"),
        (["list", "--context", "nobody"], "no-such-context"),
    ],
)
def test_settings_that_make_no_sense_have_codes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], slug: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("CONTEXT", "CONFIG", "NATS_URL", "NATS_CREDS", "DEFAULT_TENANT", "DEFAULT_CLUSTER"):
        monkeypatch.delenv(f"DISPATCH_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert run(words) == 2
    assert f"  code  {slug} (exit 2)" in capsys.readouterr().err.splitlines()


def test_a_fault_and_a_foreign_package_are_exit_1() -> None:
    assert {slug for slug, (code, _, _) in CODES.items() if code is Exit.FAULT} == {"internal", "foreign-package"}


async def test_output_that_nobody_kept_and_an_agent_that_is_away_are_told_apart() -> None:
    driver = Driver()
    await driver.submit("sleep 60")
    with pytest.raises(CliError) as caught:
        execution_of(driver.record, None)
    assert (caught.value.code, caught.value.exit_code) == ("no-output", Exit.NOT_FOUND)
    await driver.settle()
    with pytest.raises(CliError) as caught:
        await show_output(Stage(driver), LogsOptions(job="llama", tail=1))
    assert (caught.value.code, caught.value.exit_code) == ("agent-unreachable", Exit.UNREACHABLE)


def test_no_colour_where_it_is_not_wanted_whoever_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    assert screen_for("auto", {}).colour
    assert screen_for("always", {"NO_COLOR": "1"}).colour
    for color, environ in (("never", {}), ("auto", {"NO_COLOR": "1"}), ("auto", {"TERM": "dumb"})):
        assert not screen_for(color, environ).colour
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert not screen_for("auto", {}).colour
    assert screen_for("auto", {}).width is None
