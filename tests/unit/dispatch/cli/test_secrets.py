"""An address may carry a user and a password: they are shown nowhere, and no flag's value is taken for a verb."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatch.cli.main import run
from streams.addresses import shown, without_secrets

URL = "nats://u:hunter2@127.0.0.1:9"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory and a home whose one context has a password in its addresses."""
    monkeypatch.chdir(tmp_path)
    for name in ("CONTEXT", "CONFIG", "NATS_URL", "NATS_CREDS", "DEFAULT_TENANT", "DEFAULT_CLUSTER"):
        monkeypatch.delenv(f"DISPATCH_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "dispatch").mkdir()
    (tmp_path / "dispatch" / "config.yaml").write_text(
        f"current: prod\ncontexts: {{prod: {{nats: ['{URL}', 'nats://t0ken@127.0.0.1:8'], tenant: nlp}}}}\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("words", "schema"),
    [
        (["--nats", URL, "list", "--json"], "dispatch.list/1"),
        (["--timeout", "1s", "list", "--json", "--nats", URL], "dispatch.list/1"),
        (["--color", "never", URL, "--json"], "dispatch.dispatch/1"),
        ([URL, "--json"], "dispatch.dispatch/1"),
        (["list", "--json", "--timeout", URL], "dispatch.list/1"),
    ],
)
def test_an_error_is_of_the_verb_that_was_typed_and_shows_no_password(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], schema: str
) -> None:
    assert run([*words, "--context", "nobody"]) == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["schema"] == schema
    assert "hunter2" not in said.out + said.err


@pytest.mark.parametrize("words", [["show"], ["list"], ["show", "--json"], ["list", "--json"]])
def test_a_context_is_shown_without_the_password_in_its_address(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run(["context", *words]) == 0
    said = capsys.readouterr()
    assert "nats://127.0.0.1:9" in said.out
    assert "hunter2" not in said.out + said.err
    assert "t0ken" not in said.out + said.err


@pytest.mark.parametrize("words", [[], ["-v"], ["--json"]])
def test_a_fault_and_its_report_show_no_password(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(f"no way to {URL}")

    monkeypatch.setattr("dispatch.config.resolve", broken)
    assert run(["--nats", URL, "list", *words]) == 1
    said = capsys.readouterr()
    (report,) = (here / "state" / "dispatch").iterdir()
    assert report.read_text().startswith("dispatch list\nTraceback")
    assert "nats://127.0.0.1:9" in report.read_text()
    assert "hunter2" not in said.out + said.err + report.read_text()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("nats://u:p@h:4222", "nats://h:4222"),
        ("nats://u:p@ss@h", "nats://h"),
        ("nats://u:a,b@h", "nats://h"),
        ("nats://u:a/b@h", "nats://h"),
        ("u:p@h:4222", "h:4222"),
        ("tls://h:4222", "tls://h:4222"),
        ("h", "h"),
    ],
)
def test_whatever_a_password_holds_none_of_it_is_shown(url: str, told: str) -> None:
    assert shown(url) == told
    if "//" in url:
        assert without_secrets(f"no connection to {url}, tls://h2: refused") == (
            f"no connection to {told}, tls://h2: refused"
        )


def test_of_several_addresses_each_is_kept_without_its_password() -> None:
    assert without_secrets("nats://u:p@h1,nats://u:p@h2") == "nats://h1,nats://h2"
