"""The newest pair of each job is kept, and the one that a rewritten history lacks is not overwritten (L14)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adapters import files
from adapters.floors import FloorStore, newer
from streams.messages.calls import JobName
from streams.messages.values import Floor

LLAMA = JobName(installation="main", tenant="nlp", job="llama")
BERT = JobName(installation="main", tenant="nlp", job="bert")


def floor(revision: int, nonce: str = "a") -> Floor:
    return Floor(revision=revision, nonce=nonce * 26)


def test_the_newest_pair_is_kept_for_each_job_and_over_a_restart(tmp_path: Path) -> None:
    store = FloorStore(tmp_path)
    for revision in (7, 9, 8):
        store.note(LLAMA, floor(revision))
    assert store.newest(LLAMA) == floor(9)
    assert FloorStore(tmp_path).newest(LLAMA) == floor(9)
    assert store.newest(BERT) is None


def test_of_two_events_at_one_revision_the_first_is_kept_because_the_second_history_lacks_it(tmp_path: Path) -> None:
    store = FloorStore(tmp_path)
    store.note(LLAMA, floor(9, "a"))
    store.note(LLAMA, floor(9, "b"))
    assert store.newest(LLAMA) == floor(9, "a")
    assert newer(floor(9, "a"), floor(9, "b")) == floor(9, "a")


def test_of_several_agents_pairs_the_newest_counts() -> None:
    assert newer(floor(3), floor(4)) == newer(floor(4), floor(3)) == floor(4)
    assert newer(None, floor(4)) == newer(floor(4), None) == floor(4)
    assert newer(None, None) is None


def test_a_pair_that_the_disk_has_is_not_overwritten_by_an_older_one_after_the_disk_failed_half_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: str | os.PathLike[str]) -> None:
        raise OSError(5, f"Input/output error: {Path(folder).name}")

    store = FloorStore(tmp_path)
    store.note(LLAMA, floor(7))
    with monkeypatch.context() as broken:
        broken.setattr(files, "sync_folder", fail)
        with pytest.raises(OSError, match="Input/output error"):
            store.note(LLAMA, floor(9))
    store.note(LLAMA, floor(8))
    assert store.newest(LLAMA) == FloorStore(tmp_path).newest(LLAMA) == floor(9)


def test_only_the_jobs_asked_for_last_are_held_and_any_other_is_read_from_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.floors.HELD_MAX", 2)
    store = FloorStore(tmp_path)
    names = [JobName(installation="main", tenant="nlp", job=f"job-{number}") for number in range(5)]
    for number, name in enumerate(names, 1):
        store.note(name, floor(number))
        store.newest(names[0])
        store.newest(JobName(installation="main", tenant="nlp", job=f"never-called-{number}"))
    assert len(store._known) == 2
    assert [store.newest(name) for name in names] == [floor(number) for number in range(1, 6)]
    store.note(names[2], floor(1))
    assert FloorStore(tmp_path).newest(names[2]) == floor(3)
