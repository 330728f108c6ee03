"""The program itself: every verb has a page, every flag a place, every mistake one form; nothing needs a bus."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from dispatch.cli.catalog import VERBS
from dispatch.cli.completing import job_names
from dispatch.cli.main import PROGRAM, run, verb_first
from dispatch.cli.params import contexts

SHARED = (
    "--context",
    "--nats",
    "--creds",
    "--inbox-prefix",
    "--tenant",
    "--cluster",
    "--json",
    "--wide",
    "--utc",
    "--color",
    "--timeout",
)


def leaves(command: click.Command, name: str) -> list[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        return [leaf for sub in command.commands.values() for leaf in leaves(sub, f"{name} {sub.name}")]
    return [(name, command)]


def command_of(verb: str) -> click.Command:
    found = PROGRAM.get_command(click.Context(PROGRAM), verb)
    assert found is not None
    return found


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory and a home without any settings."""
    monkeypatch.chdir(tmp_path)
    for name in (
        "CONTEXT",
        "CONFIG",
        "NATS_URL",
        "NATS_CREDS",
        "NATS_INBOX_PREFIX",
        "DEFAULT_TENANT",
        "DEFAULT_CLUSTER",
    ):
        monkeypatch.delenv(f"DISPATCH_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_help_page_that_fits(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([verb, "--help"]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"Usage: dispatch {verb}")
    assert max(map(len, page.splitlines())) <= 100


@pytest.mark.parametrize("verb", VERBS)
def test_a_default_that_a_help_page_shows_may_be_typed(verb: str) -> None:
    for name, command in leaves(command_of(verb), verb):
        context = click.Context(command)
        for option in (each for each in command.params if isinstance(each, click.Option) and each.show_default):
            shown, used = option.get_help_extra(context)["default"], option.get_default(context)
            typed = option.type.convert(shown, option, context)
            assert typed == option.type_cast_value(context, used), f"{name} {option.opts[-1]} {shown}"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_the_shared_flags(verb: str) -> None:
    for name, command in leaves(command_of(verb), verb):
        flags = {flag for parameter in command.params for flag in parameter.opts}
        assert set(SHARED) <= flags, name


@pytest.mark.parametrize("verb", ["cancel", "hold", "release", "requeue", "dispose", "attest", "submit"])
def test_whatever_changes_a_job_can_be_tried_without_sending(verb: str) -> None:
    flags = {flag for parameter in command_of(verb).params for flag in parameter.opts}
    assert {"--reason", "--dry-run", "--command-id", "--yes", "--confirm"} <= flags


def test_the_first_page_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    page = capsys.readouterr().out
    assert all(f"  {verb} " in page for verb in VERBS)


def test_flags_before_the_verb_mean_what_they_mean_behind_it() -> None:
    assert verb_first(["--json", "--tenant", "nlp", "status", "x"]) == ["status", "x", "--json", "--tenant", "nlp"]
    assert verb_first(["--version", "--json"]) == ["version", "--json"]
    assert verb_first(["--utc", "context", "show"]) == ["context", "show", "--utc"]
    assert verb_first(["-q", "submit", "--", "-x"]) == ["submit", "-q", "--", "-x"]
    assert verb_first(["status", "--json"]) == ["status", "--json"]
    assert verb_first(["--help"]) == ["--help"]


@pytest.mark.parametrize(
    "words",
    [
        ["agent", "--cluster", "c", "gone", "--reason", "sold"],
        ["agent", "--reason", "sold", "--cluster=c", "gone"],
        ["agent", "--dir", "d", "gone", "--reason", "sold", "--cluster", "c"],
        ["agent", "-q", "gone", "--cluster", "c", "--reason", "sold"],
    ],
)
def test_flags_between_a_group_and_its_verb_mean_what_they_mean_behind_it(
    words: list[str], nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run([*words, "--tenant", "nlp"]) == 2
    assert "do    the same with --confirm c\n" in capsys.readouterr().err


def test_json_between_a_group_and_its_verb_is_understood(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["retries", "--json", "show", "--tenant", "nlp"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "no-bus"
    assert run(["--tenant", "nlp", "retries", "--json", "show"]) == 2
    assert json.loads(capsys.readouterr().out)["schema"] == "dispatch.retries/1"
    assert run(["context", "--utc", "--json", "list"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "dispatch.context-list/1"


def test_a_group_without_its_verb_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["agent", "--cluster", "c"]) == 2
    assert capsys.readouterr().err.startswith("error: agent needs one of local, gone\n")
    assert run(["agent", "--cluster", "c", "slrum"]) == 2
    assert "No such command 'slrum'" in capsys.readouterr().err


def test_an_unknown_verb_is_told_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["statsu"]) == 2
    assert capsys.readouterr().err == (
        "error: no command is named 'statsu'; did you mean status?\n  do    dispatch --help\n"
        "  code  bad-usage (exit 2)\n"
    )


def test_an_error_is_one_document_with_json(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "llama", "--json"]) == 2
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert (document["schema"], document["error"]["code"], document["error"]["exit"]) == (
        "dispatch.status/1",
        "no-bus",
        2,
    )
    assert told.err == ""


def test_without_a_bus_it_is_an_error_and_never_localhost(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list"]) == 2
    assert "error: no bus is named" in capsys.readouterr().err


def test_an_unreachable_bus_is_exit_6_and_says_that_nothing_was_sent(
    nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["list", "--nats", "nats://127.0.0.1:9", "--tenant", "nlp", "--timeout", "1s"]
    assert run(words) == 6
    assert capsys.readouterr().err.startswith("error: the bus does not answer; nothing was sent")


def test_a_fault_of_dispatch_itself_is_exit_1_and_leaves_a_report_without_arguments(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("dispatch.config.resolve", broken)
    assert run(["list", "--tenant", "s3cret"]) == 1
    err = capsys.readouterr().err
    assert "RuntimeError: unforeseen" in err
    assert "Traceback" not in err
    (report,) = (nowhere / "state" / "dispatch").iterdir()
    assert "Traceback" in report.read_text()
    assert "s3cret" not in report.read_text()


def test_a_traceback_is_shown_only_when_asked(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("dispatch.config.resolve", broken)
    assert run(["list", "-v"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_leaves_with_130_and_one_line(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dispatch.config.resolve", interrupted)
    assert run(["list"]) == 130
    assert capsys.readouterr().err == "\ninterrupted; no command was sent\n"


def test_context_show_tells_the_inbox_prefix_and_its_source(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--inbox-prefix", "_INBOX_ana", "--nats", "nats://x", "context", "show", "--json"]
    assert run(words) == 0
    shown = json.loads(capsys.readouterr().out)["data"]
    assert shown["inbox_prefix"] == {"value": "_INBOX_ana", "source": "--nats"}
    monkeypatch.setenv("DISPATCH_NATS_URL", "nats://x")
    monkeypatch.setenv("DISPATCH_NATS_INBOX_PREFIX", "_INBOX_bo")
    assert run(["context", "show"]) == 0
    assert re.search(r"^inbox_prefix +_INBOX_bo +from DISPATCH_NATS_URL$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_of_a_shell_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_DISPATCH_COMPLETE" in capsys.readouterr().out


def test_completion_is_silent_when_there_is_no_bus(nowhere: Path) -> None:
    command = command_of("status")
    context = click.Context(command)
    assert job_names(context, command.params[0], "ll") == []


def test_contexts_are_completed_from_the_config_file(nowhere: Path) -> None:
    (nowhere / "dispatch").mkdir()
    (nowhere / "dispatch" / "config.yaml").write_text("contexts: {prod: {nats: x}, lab: {nats: y}}\n")
    command = command_of("status")
    assert contexts(click.Context(command), command.params[0], "p") == ["prod"]


def test_a_flag_that_may_stand_alone_never_takes_the_job_for_its_value(nowhere: Path) -> None:
    command = command_of("cancel")
    context = command.make_context("cancel", ["--wait", "llama", "--reason", "x"])
    assert (context.params["wait"], context.params["jobs"]) == ("stopped", ("llama",))
    context = command.make_context("cancel", ["llama", "--wait=proven"])
    assert context.params["wait"] == "proven"


def test_help_imports_neither_the_bus_nor_yaml() -> None:
    code = (
        "import sys; sys.argv = ['dispatch', '--help']\n"
        "from dispatch.cli.main import run\n"
        "run(['--help'])\n"
        "heavy = {'nats', 'msgspec', 'ruamel', 'asyncio', 'structlog'} & {name.split('.')[0] for name in sys.modules}\n"
        "sys.stderr.write(','.join(sorted(heavy)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize("tail", ["-3", "x", "²"])
def test_a_tail_is_a_number_of_lines(nowhere: Path, capsys: pytest.CaptureFixture[str], tail: str) -> None:
    assert run(["logs", "llama", "--tail", tail]) == 2
    assert "  code  bad-usage (exit 2)" in capsys.readouterr().err
