"""A health check that cannot reach the bus says so and fails, whatever the process thinks of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatch import health, identity
from streams.jetstream.server import free_port


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An address at which no server is."""
    url = f"nats://127.0.0.1:{free_port()}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPATCH_CONFIG", str(tmp_path / "none.yaml"))
    monkeypatch.setenv("DISPATCH_NATS_URL", url)
    monkeypatch.setattr(health, "WITHIN_S", 0.2)
    return url


@pytest.mark.parametrize("words", [["supervisor"], ["agent", "local"]])
def test_a_service_whose_bus_is_away_is_not_at_work(
    words: list[str], nowhere: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert health.main(words) == 1
    assert nowhere.removeprefix("nats://") in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["agent"], ["supervisor", "x"], ["nats"]])
def test_a_word_that_is_no_service_is_bad_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert health.main(words) == 2
    assert "usage:" in capsys.readouterr().err


def test_a_replica_without_a_name_of_its_own_is_found_by_its_hosts() -> None:
    assert identity.replica_name().startswith(identity.replica_prefix())
