"""A log that is written to for ever is put aside when its writer starts again: two of them are kept, whatever happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.local.daemon import LOG_BYTES_MAX
from dispatch import up
from tests.conformance.local_world import LocalWorld
from tests.conformance.scheduler_world import Job


async def test_the_log_of_the_host_is_put_aside_when_one_starts_and_it_has_grown_too_large(
    world: LocalWorld, job: Job
) -> None:
    log = world.state_dir / "daemon.log"
    with log.open("wb") as file:
        file.truncate(LOG_BYTES_MAX)
    await world.adapter.find(job.name)
    assert (world.state_dir / "daemon.log.1").stat().st_size == LOG_BYTES_MAX
    assert log.stat().st_size < LOG_BYTES_MAX


async def test_the_log_of_a_supervisor_is_put_aside_when_it_starts_and_it_has_grown_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(up, "LOG_BYTES_MAX", 10)
    log = tmp_path / "sv-1.log"
    log.write_bytes(b"ten bytes!")
    for _ in range(2):
        process = await up._spawn(tmp_path / "no-options.json", log)
        assert await process.wait() != 0
    assert b"ten bytes!" not in log.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sv-1.log", "sv-1.log.1"]
    assert b"no-options.json" in (tmp_path / "sv-1.log.1").read_bytes()
