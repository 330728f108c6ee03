"""A health check that cannot reach the bus says so and fails, whatever the process thinks of itself."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from dispatch import health
from dispatch.replica.beat import Beat
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


def beat(name: str, host: str) -> bytes:
    return msgspec.json.encode(Beat(name=name, version="0.1.0", at=datetime.now(UTC), host=host))


def test_a_host_is_at_work_by_its_own_replicas_alone_whatever_they_and_others_are_named() -> None:
    held = {
        "gpu-2-77-abcdef": beat("gpu-2-77-abcdef", "gpu-2"),
        "gpu-77-abcdef": beat("gpu-77-abcdef", "gpu.other.example"),
        "gpu-78-abcdef": b"no beat",
    }
    assert health.of_host(held, "gpu") == []
    assert health.of_host(held | {"sv-a": beat("sv-a", "gpu")}, "gpu") == ["sv-a"]
    assert health.of_host(held, "gpu-2") == ["gpu-2-77-abcdef"]
