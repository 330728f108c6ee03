"""Memory and disk agree about an object, also when the disk fails half-way."""

from __future__ import annotations

import os
import resource
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from adapters.clock import HostClock
from adapters.errors import UnreachableError
from adapters.local import objects
from adapters.local.calls import answer
from adapters.local.host import LocalHost
from adapters.local.objects import LocalObject, ObjectRecord, ObjectStore, object_id
from adapters.local.settings import settle_settings
from adapters.wire import FindQuery, FoundReply
from streams.messages.calls import JobName
from streams.messages.spec import JobSpec, Run
from streams.messages.values import Cause, CauseKind, Phase, Tag

NAME = JobName(installation="main", tenant="nlp", job="llama")
TAG = Tag(installation="main", tenant="nlp", job="llama", submission=1, attempt=1, revision=7, nonce="n" * 26)
RECORD = ObjectRecord(
    id=object_id(TAG),
    name=NAME,
    tag=TAG,
    spec=JobSpec(cluster="local", run=Run(script="true\n")),
    made_at=datetime(2026, 1, 1, tzinfo=UTC),
)


class Disk:
    """Asked to make a folder's names last; fails as often as it is told to."""

    def __init__(self) -> None:
        self.failures = 0
        self.synced: list[str] = []

    def sync(self, folder: str | os.PathLike[str]) -> None:
        if self.failures and not Path(folder).name.startswith(".draft-"):
            self.failures -= 1
            raise OSError(5, "Input/output error")
        self.synced.append(os.fspath(folder))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(objects, "sync_folder", disk.sync)
    return disk


def on_disk(folder: Path) -> LocalObject:
    """The one object, as a host that starts now finds it."""
    [one] = ObjectStore(folder).of(NAME)
    return one


def test_an_object_that_the_disk_has_is_shown_even_if_the_disk_does_not_promise_to_keep_it(
    tmp_path: Path, disk: Disk
) -> None:
    store = ObjectStore(tmp_path)
    disk.failures = 1
    with pytest.raises(OSError, match="Input/output error"):
        store.make(RECORD)
    assert on_disk(tmp_path).record == RECORD
    assert [one.record for one in store.of(NAME)] == [RECORD]


def test_an_object_that_is_made_again_is_answered_for_only_once_the_disk_keeps_it(tmp_path: Path, disk: Disk) -> None:
    store = ObjectStore(tmp_path)
    disk.failures = 2
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output error"):
            store.make(RECORD)
    made = store.make(RECORD)
    assert store.of(NAME) == [made]
    assert disk.synced[-2:] == [str(made.folder.parent), str(tmp_path)]


def test_a_state_that_the_disk_has_is_in_memory_too_and_is_made_to_last_when_asked_for_again(
    tmp_path: Path, disk: Disk
) -> None:
    one = ObjectStore(tmp_path).make(RECORD)
    stopped = msgspec.structs.replace(one.state, stopped=True)
    disk.failures = 2
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output error"):
            one.change(stopped)
        assert one.state == on_disk(tmp_path).state == stopped
    one.change(stopped)
    assert disk.synced[-1] == str(one.folder)


def test_a_start_that_finds_no_room_leaves_nothing_behind(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, unlimited[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            store.make(RECORD)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert store.of(NAME) == []
    assert list(tmp_path.glob("**/.draft-*")) == []


def test_an_open_that_the_disk_has_is_heeded_even_if_the_disk_does_not_promise_to_keep_it(
    tmp_path: Path, disk: Disk
) -> None:
    settings = settle_settings(tmp_path, cluster="local", slots=1, base_dir=tmp_path)
    clock = HostClock(tmp_path / "clock", boot="b1")
    host = LocalHost(tmp_path, settings, clock, boot="b1")
    one = host.store.make(RECORD)
    disk.failures = 1
    with pytest.raises(OSError, match="Input/output error"):
        host.change(one, msgspec.structs.replace(one.state, opened_at=clock.now()))
    assert [waiting.id for waiting in host.waiting()] == [one.id]
    host.changes.close()
    clock.close()


def host_of(folder: Path) -> LocalHost:
    settings = settle_settings(folder, cluster="local", slots=1, base_dir=folder)
    return LocalHost(folder, settings, HostClock(folder / "clock", boot="b1"), boot="b1")


def test_a_find_tells_no_state_that_the_disk_has_not_promised_to_keep(tmp_path: Path, disk: Disk) -> None:
    """L9: after a loss of power the host would show the state before it, and an end that was told would be undone."""
    host = host_of(tmp_path)
    one = host.store.make(RECORD)
    disk.failures = 2
    with pytest.raises(OSError, match="Input/output error"):
        host.change(one, msgspec.structs.replace(one.state, stopped=True, end=Cause(kind=CauseKind.STOPPED)))
    with pytest.raises(UnreachableError):
        answer(host, FindQuery(name=NAME))
    found = answer(host, FindQuery(name=NAME))
    assert isinstance(found, FoundReply)
    assert [seen.phase for seen in found.found.sightings] == [Phase.ENDED]
    assert disk.synced[-1] == str(one.folder)
    host.changes.close()


def test_a_find_shows_no_object_that_the_disk_has_not_promised_to_keep(tmp_path: Path, disk: Disk) -> None:
    host = host_of(tmp_path)
    disk.failures = 2
    with pytest.raises(OSError, match="Input/output error"):
        host.store.make(RECORD)
    with pytest.raises(UnreachableError):
        answer(host, FindQuery(name=NAME))
    found = answer(host, FindQuery(name=NAME))
    assert isinstance(found, FoundReply)
    assert [seen.object.id for seen in found.found.sightings] == [RECORD.id]
    host.changes.close()
