"""Memory is measured by what processes hold, and limited by a cgroup only where one can really be made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from adapters.local.memory import make_cgroup, oom_kills, remove_cgroup, used_bytes
from adapters.local.processes import look_at

MIB = 1024 * 1024


def test_no_cgroup_is_made_where_the_memory_controller_is_off(tmp_path: Path) -> None:
    (tmp_path / "user" / "app").mkdir(parents=True)
    assert make_cgroup("run-1", 100 * MIB, root=str(tmp_path), own="/user/app") is None
    assert not list(tmp_path.rglob("run-1"))


def test_no_cgroup_is_made_where_there_is_no_such_hierarchy(tmp_path: Path) -> None:
    assert make_cgroup("run-1", 100 * MIB, root=str(tmp_path / "absent"), own="/user/app") is None


def test_the_kernels_event_is_what_says_out_of_memory(tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n")
    assert oom_kills(str(tmp_path)) == 3
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\n")
    assert oom_kills(str(tmp_path)) == 0
    assert oom_kills(str(tmp_path / "absent")) == 0


def test_a_cgroup_that_is_not_there_or_not_empty_is_left(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "child").mkdir()
    remove_cgroup(str(tmp_path / "run"))
    remove_cgroup(str(tmp_path / "absent"))
    assert (tmp_path / "run").exists()


def test_what_a_process_holds_is_measured() -> None:
    code = f"held = b'x' * {200 * MIB}; print('ready', flush=True); input()"
    argv = [sys.executable, "-S", "-c", code]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        process = look_at(child.pid)
        assert process is not None
        assert 200 * MIB < used_bytes([process], 100 * MIB) < 300 * MIB
        assert 200 * MIB < used_bytes([process], 1000 * MIB) < 300 * MIB
        child.communicate(b"\n")
    assert used_bytes([process], 0) == 0
