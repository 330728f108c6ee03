"""A host's clock never goes back, over restarts and boots, and whatever happens to the wall clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.clock import HostClock, read_boot_id

HOUR_NS = 3600 * 10**9
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Wall:
    """A wall clock that is set by hand."""

    def __init__(self) -> None:
        self.ns = int(NOON.timestamp()) * 10**9

    def __call__(self) -> int:
        return self.ns


@pytest.fixture
def wall() -> Wall:
    return Wall()


def test_it_tells_the_wall_clock_and_no_instant_twice(tmp_path: Path, wall: Wall) -> None:
    clock = HostClock(tmp_path / "clock", boot="b1", wall_ns=wall)
    told = [clock.now() for _ in range(100)]
    assert told[0] == NOON
    assert told == sorted(set(told))


def test_set_back_it_runs_on_from_the_greatest_it_has_told(tmp_path: Path, wall: Wall) -> None:
    clock = HostClock(tmp_path / "clock", boot="b1", wall_ns=wall)
    clock.now()
    wall.ns -= HOUR_NS
    assert NOON < clock.now() < NOON + timedelta(seconds=5)
    wall.ns += 3 * HOUR_NS
    assert clock.now() == NOON + timedelta(hours=2)


@pytest.mark.parametrize("boot", ["b1", "another, longer boot id", "b"])
def test_restarted_it_knows_what_it_told_before(tmp_path: Path, wall: Wall, boot: str) -> None:
    first = HostClock(tmp_path / "clock", boot="boot-1", wall_ns=wall)
    told = first.now()
    first.close()
    wall.ns -= HOUR_NS
    second = HostClock(tmp_path / "clock", boot=boot, wall_ns=wall)
    assert told < second.now() < told + timedelta(seconds=5)
    second.close()
    third = HostClock(tmp_path / "clock", boot="boot-3", wall_ns=wall)
    assert third.now() > told


def test_after_a_boot_it_starts_later_than_what_a_power_cut_may_have_kept_off_the_disk(
    tmp_path: Path, wall: Wall
) -> None:
    first = HostClock(tmp_path / "clock", boot="b1", wall_ns=wall)
    told = first.now()
    first.close()
    wall.ns -= HOUR_NS
    assert HostClock(tmp_path / "clock", boot="b2", wall_ns=wall).now() >= told + timedelta(seconds=1)


@pytest.mark.parametrize("left", [b"", b"\x00" * 80, b"12 34", b"soon 1 b1\n"])
def test_a_file_that_holds_nothing_it_can_read_starts_it_anew(tmp_path: Path, wall: Wall, left: bytes) -> None:
    (tmp_path / "clock").write_bytes(left)
    assert HostClock(tmp_path / "clock", boot="b1", wall_ns=wall).now() == NOON


def test_the_boot_id_is_what_its_file_says(tmp_path: Path) -> None:
    (tmp_path / "boot").write_text("beb04594\n")
    assert read_boot_id(tmp_path / "boot") == "beb04594"
    assert len(read_boot_id()) == 36
