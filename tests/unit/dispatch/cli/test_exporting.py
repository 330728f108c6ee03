"""`export` and what `verify --file` makes of it: yesterday's backup stands until today's is whole."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dispatch.cli.commands import export, verify
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.exporting import manifest_path, read_manifest
from streams.errors import BusUnreachableError
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import Stage
from tests.unit.dispatch.cli.test_looking import succeeded

Held = dict[str, bytes]


def files(folder: Path) -> Held:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def exported(driver: Driver, path: Path, *jobs: str) -> Exit:
    """`dispatch export` of these jobs, or of all of the tenant's."""
    return await export._export(Stage(driver), export.ExportOptions(jobs=jobs, every=not jobs, output=str(path)), ())


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """A file may not grow beyond this here: a write fails as on a full disk, and Python ignores the signal."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
async def yesterday(tmp_path: Path) -> Held:
    """A good export of before, and its manifest."""
    await exported(await succeeded(), tmp_path / "all.jsonl")
    held = files(tmp_path)
    assert sorted(held) == ["all.jsonl", "all.jsonl.manifest.json"]
    return held


async def test_an_export_is_a_file_and_its_manifest_and_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "llama.jsonl"
    driver = await succeeded()
    assert await exported(driver, path, "llama") is Exit.DONE
    manifest = read_manifest(path)
    assert (manifest.jobs, manifest.events, manifest.bytes) == (1, driver.record.number, path.stat().st_size)
    assert sorted(files(tmp_path)) == ["llama.jsonl", "llama.jsonl.manifest.json"]
    assert list(verify._of_file(path)) == [("nlp", "llama")]


async def test_a_job_that_is_not_there_leaves_the_earlier_export_whole(yesterday: Held, tmp_path: Path) -> None:
    with pytest.raises(CliError) as caught:
        await exported(await succeeded(), tmp_path / "all.jsonl", "lama")
    assert caught.value.code == "no-such-job"
    assert files(tmp_path) == yesterday


async def test_a_bus_that_is_lost_half_way_leaves_the_earlier_export_whole(
    yesterday: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = await succeeded()
    whole = driver.bus.history.stored

    async def broken(**asked: str | None) -> object:
        async for stored in whole(**asked):  # type: ignore[arg-type]
            yield stored
            raise BusUnreachableError("gone")

    monkeypatch.setattr(driver.bus.history, "stored", broken)
    with pytest.raises(BusUnreachableError):
        await exported(driver, tmp_path / "all.jsonl")
    assert files(tmp_path) == yesterday


async def test_a_tenant_without_a_job_is_no_export_and_replaces_none(yesterday: Held, tmp_path: Path) -> None:
    with pytest.raises(CliError) as caught:
        await exported(Driver(), tmp_path / "all.jsonl")
    assert (caught.value.code, caught.value.what) == (
        "no-such-job",
        "tenant nlp has no job: there is nothing to export",
    )
    assert files(tmp_path) == yesterday


async def test_a_full_disk_is_told_and_leaves_the_earlier_export_whole(yesterday: Held, tmp_path: Path) -> None:
    driver = await succeeded()
    for room in (100, len(yesterday["all.jsonl"]) - 1):
        with room_for(room), pytest.raises(CliError) as caught:
            await exported(driver, tmp_path / "all.jsonl")
        assert (caught.value.code, caught.value.exit_code) == ("not-written", Exit.USAGE)
        assert caught.value.why == ("File too large",)
        assert files(tmp_path) == yesterday


async def test_what_cannot_be_a_file_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "told.jsonl.manifest.json").mkdir()
    for name in ("folder", "missing/all.jsonl", "told.jsonl"):
        with pytest.raises(CliError, match="cannot be written") as caught:
            await exported(Driver(), tmp_path / name)
        assert caught.value.code == "not-written"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "told.jsonl.manifest.json"]


async def test_an_export_keeps_the_rights_and_the_link_that_it_finds(tmp_path: Path) -> None:
    (tmp_path / "monday.jsonl").touch(mode=0o600)
    (tmp_path / "latest.jsonl").symlink_to("monday.jsonl")
    assert await exported(await succeeded(), tmp_path / "latest.jsonl") is Exit.DONE
    monday = tmp_path / "monday.jsonl"
    assert (tmp_path / "latest.jsonl").readlink() == Path("monday.jsonl")
    assert (monday.stat().st_mode & 0o777, monday.stat().st_size > 0) == (0o600, True)
    assert read_manifest(tmp_path / "latest.jsonl").jobs == 1


def test_a_file_without_a_history_is_an_error_and_no_clean_bill(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    for text in ("", "\n\n"):
        path.write_text(text)
        with pytest.raises(CliError, match="holds no job's history: nothing was judged") as caught:
            verify._of_file(path)
        assert caught.value.exit_code is Exit.USAGE
    assert not manifest_path(path).exists()
