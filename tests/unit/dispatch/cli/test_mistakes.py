"""A person's mistake is told as one, with what to change; never as a fault of dispatch itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatch.cli.errors import told
from dispatch.cli.main import run
from tests.unit.dispatch.cli.test_program import nowhere

__all__ = ["nowhere"]


@pytest.mark.parametrize(
    "words",
    [
        ["up", "--dir", "taken/here"],
        ["agent", "local", "--cluster", "c", "--dir", "taken/here", "--nats", "nats://127.0.0.1:9"],
    ],
    ids=["up", "agent local"],
)
def test_a_directory_that_cannot_be_made_is_named_with_the_reason(
    nowhere: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    (nowhere / "taken").write_text("a file\n")
    assert run(words) == 2
    first, why, *_, code = capsys.readouterr().err.splitlines()
    assert first.startswith("error: ")
    assert "taken" in first
    assert first.endswith(" cannot be used")
    assert why == "  why   Not a directory"
    assert code == "  code  unusable-path (exit 2)"


@pytest.mark.parametrize("words", [["verify", "--file", "."], ["verify", "--file", "/"]])
def test_a_directory_is_no_file_to_verify(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert run(words) == 2
    assert capsys.readouterr().err.splitlines()[:2] == [f"error: {words[-1]} cannot be read", "  why   Is a directory"]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("nats://[::1", "its host cannot be read"),
        ("nats://h:99999", "its port is no number from 1 to 65535"),
        ("nats://h:0", "its port is no number from 1 to 65535"),
        ("nats://ana:s3cret@h:port", "its port is no number from 1 to 65535"),
        ("nats://", "it names no host"),
        ("http://h:4222", "it begins with none of nats://, tls://, ws://, wss://"),
    ],
)
def test_an_address_that_is_none_is_told_with_where_it_came_from(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str, why: str
) -> None:
    assert run(["list", "--tenant", "nlp", "--nats", f"nats://127.0.0.1:9,{url}"]) == 2
    shown = capsys.readouterr().err
    assert f"  why   it comes from --nats; {why}\n" in shown
    assert "  code  bad-settings (exit 2)" in shown
    assert "s3cret" not in shown
    monkeypatch.setenv("DISPATCH_NATS_URL", url)
    assert run(["list", "--tenant", "nlp", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["why"] == [f"it comes from DISPATCH_NATS_URL; {why}"]


def test_an_address_of_the_config_file_is_told_with_its_context_and_another_can_still_be_used(
    nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (nowhere / "dispatch").mkdir()
    config = nowhere / "dispatch" / "config.yaml"
    config.write_text("current: bad\ncontexts: {bad: {nats: ['nats://h:99999'], tenant: nlp}, lab: {nats: [h]}}\n")
    assert run(["list"]) == 2
    assert "  why   it comes from context bad; its port is no number" in capsys.readouterr().err
    assert run(["context", "list"]) == 0
    assert run(["context", "use", "lab"]) == 0
    assert run(["context", "show"]) == 0


def test_a_config_file_that_cannot_be_written_is_told_by_its_own_name(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (nowhere / "taken").write_text("a file\n")
    config = nowhere / "config.yaml"
    config.write_text("contexts:\n  lab: {nats: [h]}\n")
    config.with_name(f".{config.name}.7").mkdir()
    monkeypatch.setattr("os.getpid", lambda: 7)  # the draft beside it cannot be written
    monkeypatch.setenv("DISPATCH_CONFIG", str(config))
    assert run(["context", "use", "lab"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"error: {config} cannot be written",
        "  why   Is a directory",
        "  code  bad-settings (exit 2)",
    ]


def test_a_word_in_another_encoding_than_the_locale_names_is_refused_before_anything_is_sent(
    nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = b"caf\xe9".decode("utf-8", "surrogateescape")
    words = ["hold", "llama", "--reason", typed, "--tenant", "nlp", "--nats", "nats://127.0.0.1:9"]
    assert run(words) == 2
    assert capsys.readouterr().err.splitlines()[0] == r"error: 'caf\udce9' is no text in UTF-8"
    assert run([*words, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "bad-usage"


@pytest.mark.parametrize(
    "words",
    [
        "status --at 3",
        "status --live",
        "status --submission 1",
        "status llama --at 3 --live",
        "why llama --at 3 --live",
        "logs llama --rank 3 --first-failed",
    ],
)
def test_a_flag_that_would_be_dropped_in_silence_is_refused(
    nowhere: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    assert run([*words.split(), "--tenant", "nlp", "--nats", "nats://127.0.0.1:9"]) == 2
    assert "  code  bad-usage (exit 2)" in capsys.readouterr().err


def test_what_fails_without_a_file_of_anybodys_stays_a_fault() -> None:
    assert told(OSError(24, "Too many open files")) is None
    found = told(PermissionError(13, "Permission denied", "/srv/x"))
    assert found is not None
    assert (found.what, found.why, found.code) == ("/srv/x cannot be used", ("Permission denied",), "unusable-path")
