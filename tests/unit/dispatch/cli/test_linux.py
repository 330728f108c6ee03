"""Elsewhere than on Linux, what runs processes refuses in one sentence, and makes nothing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from dispatch.cli.main import run


@pytest.mark.parametrize(
    "words",
    [
        ["up"],
        ["agent", "local", "--cluster", "rig", "--nats", "nats://127.0.0.1:9"],
        ["supervise", "--local", "rig", "--nats", "nats://127.0.0.1:9"],
    ],
)
def test_elsewhere_than_on_linux_it_says_so_and_makes_nothing(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("dispatch.cli.linux.sys", SimpleNamespace(platform="darwin"))
    assert run(words) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.splitlines()[0].endswith("needs Linux, and this is darwin")) == ("", True)
    assert list(tmp_path.iterdir()) == []
