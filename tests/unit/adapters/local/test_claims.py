"""A run is claimed once, by a runner or by nobody, and its lock lives as long as anything of it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.local.claims import claim_for_me, claim_for_nobody, is_held, read_claim, runner_lives

ROOT = Path(__file__).parents[4]
CLAIMS = """
import sys
sys.path.append(sys.argv[1])
import fcntl, os
from adapters.local.claims import claim_for_me
lock = claim_for_me(sys.argv[2], "b1")
print("mine" if lock is not None else "taken", flush=True)
if lock is not None and len(sys.argv) > 3:
    fcntl.fcntl(lock, fcntl.F_SETFD, 0)
    child = os.posix_spawn("/bin/sleep", ["sleep", "600"], {})
    print(child, flush=True)
sys.stdin.readline()
"""


def runner(folder: Path, *more: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-S", "-c", CLAIMS, str(ROOT), str(folder), *more]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_of_several_runners_one_claims_the_run(tmp_path: Path) -> None:
    runners = [runner(tmp_path) for _ in range(5)]
    try:
        words = [said(one) for one in runners]
        assert sorted(words) == ["mine", "taken", "taken", "taken", "taken"]
        claim = read_claim(str(tmp_path))
        assert claim is not None
        assert claim.pid == runners[words.index("mine")].pid
        assert runner_lives(claim, str(tmp_path))
    finally:
        for one in runners:
            one.kill()
            one.communicate()
    assert not runner_lives(claim, str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["claim"]


def test_a_run_that_nobody_may_begin_cannot_be_claimed(tmp_path: Path) -> None:
    assert claim_for_nobody(str(tmp_path), "b1")
    assert claim_for_me(str(tmp_path), "b1") is None
    claim = read_claim(str(tmp_path))
    assert claim is not None
    assert claim.pid == 0
    assert not is_held(str(tmp_path))


def test_a_run_that_was_claimed_cannot_be_given_to_nobody(tmp_path: Path) -> None:
    lock = claim_for_me(str(tmp_path), "b1")
    assert lock is not None
    assert not claim_for_nobody(str(tmp_path), "b1")
    claim = read_claim(str(tmp_path))
    assert claim is not None
    assert (claim.pid, claim.boot) == (os.getpid(), "b1")
    os.close(lock)


def test_nobody_has_claimed_a_run_without_a_claim(tmp_path: Path) -> None:
    assert read_claim(str(tmp_path)) is None


def test_the_lock_is_held_while_anything_that_inherited_it_lives(tmp_path: Path) -> None:
    with runner(tmp_path, "with a child") as first:
        assert said(first) == "mine"
        child = int(said(first))
        first.kill()
    claim = read_claim(str(tmp_path))
    assert claim is not None
    assert not runner_lives(claim, str(tmp_path))
    assert is_held(str(tmp_path))
    descriptor = os.pidfd_open(child)
    os.kill(child, 9)
    os.set_blocking(descriptor, False)
    while is_held(str(tmp_path)):
        os.sched_yield()
    os.close(descriptor)


def test_from_another_pid_namespace_a_runner_lives_as_long_as_its_lock_is_held(tmp_path: Path) -> None:
    lock = claim_for_me(str(tmp_path), "b1")
    assert lock is not None
    claim = read_claim(str(tmp_path))
    assert claim is not None
    claim.namespace += 1
    claim.pid = 999_999_999
    assert runner_lives(claim, str(tmp_path))
    os.close(lock)
    assert not runner_lives(claim, str(tmp_path))


def test_a_claim_that_the_disk_has_no_room_for_leaves_no_descriptor_and_no_draft(tmp_path: Path) -> None:
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, unlimited[1]))
    try:
        for _ in range(3):
            with pytest.raises(OSError, match="File too large"):
                claim_for_nobody(str(tmp_path), "b1")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before
    assert list(tmp_path.iterdir()) == []
    assert claim_for_nobody(str(tmp_path), "b1")
