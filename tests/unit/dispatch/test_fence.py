"""An older execution cannot write once a newer one has the checkpoint directory."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dispatch import fence
from dispatch.fence import Fence, NoEpochError, StaleEpochError, UnreadableError, take

ROOT = Path(__file__).parents[3]
WRITES_ON = """
import sys
sys.path.insert(0, sys.argv[1])
from dispatch.fence import StaleEpochError, take
written = 0
try:
    fence = take(sys.argv[2], int(sys.argv[3]))
    while True:
        fence.write("latest", sys.argv[3].encode())
        if written == 0:
            print("writing", flush=True)
        written += 1
except StaleEpochError as error:
    print(error, flush=True)
"""


def writer(directory: Path, epoch: int) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", WRITES_ON, str(ROOT), str(directory), str(epoch)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


def parts(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if path.name.endswith(".part")]


def test_the_newer_execution_takes_the_directory_and_the_older_is_told_before_it_writes(tmp_path: Path) -> None:
    older = take(tmp_path, 1_000_000)
    older.write("latest", b"old")
    newer = take(tmp_path, 1_000_001)
    with pytest.raises(StaleEpochError, match="execution 1000001 has this directory; this is execution 1000000"):
        older.write("latest", b"late")
    with pytest.raises(StaleEpochError):
        older.check()
    assert (tmp_path / "latest").read_bytes() == b"old"
    newer.write("latest", b"new")
    assert (tmp_path / "latest").read_bytes() == b"new"
    assert parts(tmp_path) == []


def test_an_older_execution_cannot_take_the_directory_back(tmp_path: Path) -> None:
    take(tmp_path, 2_000_000)
    with pytest.raises(StaleEpochError) as raised:
        take(tmp_path, 1_999_999)
    assert (raised.value.mine, raised.value.held) == (1_999_999, 2_000_000)
    take(tmp_path, 2_000_000).check()


def test_all_ranks_of_one_execution_share_the_directory(tmp_path: Path) -> None:
    ranks = [take(tmp_path, 1_000_000) for _ in range(8)]
    for number, rank in enumerate(ranks):
        rank.write(f"shards/{number}", b"x")
    assert sorted(path.name for path in (tmp_path / "shards").iterdir()) == [str(n) for n in range(8)]


def test_a_finished_file_that_may_not_be_published_stays_where_it_is(tmp_path: Path) -> None:
    older = take(tmp_path, 1)
    (tmp_path / "step-9.part").write_bytes(b"weights")
    take(tmp_path, 2)
    with pytest.raises(StaleEpochError):
        older.publish("step-9.part", "step-9")
    assert (tmp_path / "step-9.part").read_bytes() == b"weights"
    assert not (tmp_path / "step-9").exists()


def test_a_folder_is_published_whole(tmp_path: Path) -> None:
    mine = take(tmp_path, 1)
    (tmp_path / "step-9.part").mkdir()
    (tmp_path / "step-9.part" / "shard").write_bytes(b"weights")
    assert mine.publish("step-9.part", "step-9") == tmp_path / "step-9"
    assert (tmp_path / "step-9" / "shard").read_bytes() == b"weights"


def test_the_number_comes_from_the_execution_dispatch_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPATCH_EPOCH", "3000002")
    assert take(tmp_path).epoch == 3_000_002


@pytest.mark.parametrize("value", [None, "", "new", "-1", "1.5", "9" * 19])
def test_without_a_number_nothing_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("DISPATCH_EPOCH", raising=False)
    if value is not None:
        monkeypatch.setenv("DISPATCH_EPOCH", value)
    with pytest.raises(NoEpochError):
        take(tmp_path / "checkpoints")
    assert not (tmp_path / "checkpoints").exists()


def test_a_directory_whose_number_cannot_be_read_is_nobodys_until_a_person_looked(tmp_path: Path) -> None:
    mine = take(tmp_path, 1)
    (tmp_path / ".dispatch-epoch").write_text("one")
    with pytest.raises(UnreadableError, match="holds no execution number: 'one'"):
        mine.write("latest", b"x")
    with pytest.raises(UnreadableError):
        take(tmp_path, 2)
    assert not (tmp_path / "latest").exists()


def test_once_the_newer_has_the_directory_nothing_of_a_running_older_writer_appears(tmp_path: Path) -> None:
    for epoch in range(1, 6):
        with writer(tmp_path, epoch) as older:
            assert older.stdout is not None
            assert older.stdout.readline() == "writing\n"
            newer = take(tmp_path, epoch + 1)
            newer.write("latest", b"newer")
            assert f"execution {epoch + 1} has this directory" in older.stdout.readline()
        assert (tmp_path / "latest").read_bytes() == b"newer"


def test_of_many_that_take_it_at_once_the_newest_has_it(tmp_path: Path) -> None:
    writers = [writer(tmp_path, epoch) for epoch in (3, 1, 5, 2, 4)]
    try:
        newest = writers[2]
        assert newest.stdout is not None
        assert newest.stdout.readline() == "writing\n"
        for other in writers:
            if other is not newest:
                said, _ = other.communicate(timeout=60)
                # Told by whichever newer one had it by then.
                assert re.search(r"execution [2-5] has this directory", said) or not said
        assert newest.poll() is None
        assert (tmp_path / ".dispatch-epoch").read_text() == "5\n"
    finally:
        for each in writers:
            each.kill()
            each.communicate()


def test_a_writer_killed_half_way_leaves_no_half_file_and_no_lock(tmp_path: Path) -> None:
    with writer(tmp_path, 1) as older:
        assert older.stdout is not None
        assert older.stdout.readline() == "writing\n"
        older.send_signal(signal.SIGKILL)
    newer = take(tmp_path, 2)
    assert (tmp_path / "latest").read_bytes() == b"1"
    newer.write("latest", b"2")


def test_the_one_file_can_be_copied_into_an_image_without_anything_else(tmp_path: Path) -> None:
    source = Path(fence.__file__).read_text()
    imported = {
        (node.module or "").split(".")[0] if isinstance(node, ast.ImportFrom) else node.names[0].name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= sys.stdlib_module_names | {"__future__"}
    (tmp_path / "fence.py").write_text(source)
    code = "from fence import take; print(take('c', 7).write('x', b'y'))"
    argv = [sys.executable, "-S", "-c", code]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True, env={"PATH": os.defpath})
    assert done.stdout == f"{tmp_path}/c/x\n"


def test_a_fence_names_its_directory_and_number(tmp_path: Path) -> None:
    mine = take(str(tmp_path), 4)
    assert isinstance(mine, Fence)
    assert (mine.directory, mine.epoch) == (tmp_path, 4)
