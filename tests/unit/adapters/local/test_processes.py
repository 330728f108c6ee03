"""A process is known by its pid and start time; what it started is found, and only it is signalled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from adapters.local.processes import (
    MARK,
    all_processes,
    bears_any_mark,
    bears_mark,
    descendants,
    has_open,
    is_alive,
    is_unclear,
    look_at,
    send,
)

NAMED = "/bin/sleep"


def test_a_process_is_the_one_that_started_then_and_no_other_with_its_pid() -> None:
    with subprocess.Popen([NAMED, "600"]) as child:
        process = look_at(child.pid)
        assert process is not None
        assert (process.parent, process.name, str(process)) == (os.getpid(), "sleep", f"pid {child.pid} (sleep)")
        assert is_alive(child.pid, process.started)
        assert not is_alive(child.pid, process.started + 1)
        process.started += 1
        send(process, signal.SIGKILL)
        assert child.poll() is None
        process.started -= 1
        send(process, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    assert look_at(child.pid) is None
    send(process, signal.SIGKILL)


def test_a_zombie_is_dead() -> None:
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert look_at(child) is None
    assert child not in {process.pid for process in all_processes()}
    os.waitpid(child, 0)


def test_a_process_whose_first_thread_left_is_alive() -> None:
    code = "import threading, time, ctypes; threading.Thread(target=time.sleep, args=(600,)).start(); print(flush=True)"
    leave = "; ctypes.CDLL(None).pthread_exit(None)"
    with subprocess.Popen([sys.executable, "-S", "-c", code + leave], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        while "Z" not in Path(f"/proc/{child.pid}/stat").read_text().rpartition(") ")[2][:1]:
            os.sched_yield()
        process = look_at(child.pid)
        assert process is not None
        assert process.state == "Z"
        child.kill()


def test_a_name_may_hold_brackets_and_spaces(tmp_path: Path) -> None:
    odd = tmp_path / "a) R (b"
    odd.symlink_to(NAMED)
    with subprocess.Popen([str(odd), "600"]) as child:
        process = look_at(child.pid)
        assert process is not None
        assert (process.name, process.parent) == ("a) R (b", os.getpid())
        child.kill()


def test_a_mark_is_found_whole_and_never_in_a_part() -> None:
    with subprocess.Popen([NAMED, "600"], env={"A": "b", MARK: "h.nonce.1"}) as child:
        while (process := look_at(child.pid)) is None or process.executing:
            os.sched_yield()
        assert bears_mark(process, "h.nonce.1")
        assert not bears_mark(process, "h.nonce.10")
        assert not bears_mark(process, "nonce.1")
        assert bears_any_mark(process)
        child.kill()
    me = look_at(os.getpid())
    assert me is not None
    assert not bears_any_mark(me)


def test_a_process_in_the_middle_of_an_exec_is_not_taken_for_one_without_a_mark() -> None:
    caught = 0
    for _ in range(3000):
        child = os.posix_spawn(NAMED, ["sleep", "600"], {MARK: "h.nonce.1"})
        process = look_at(child)
        assert process is not None
        assert bears_mark(process, "h.nonce.1") or process.executing
        caught += is_unclear(process)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if caught:
            break
    assert caught, "none of so many was seen in the middle of its exec"
    assert not any(is_unclear(process) for process in all_processes() if process.pid == 1)


def test_an_open_file_is_found_in_the_process_that_holds_it(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as file:
        status = os.fstat(file.fileno())
        with subprocess.Popen([NAMED, "600"], pass_fds=[file.fileno()]) as child:
            process = look_at(child.pid)
            assert process is not None
            assert has_open(process, status.st_dev, status.st_ino)
            assert not has_open(process, status.st_dev, status.st_ino + 1)
            child.kill()


def test_descendants_are_children_and_their_children_and_nobody_else() -> None:
    with subprocess.Popen(["/bin/sh", "-c", f"{NAMED} 600 & echo $!; wait"], stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        sleeper = int(shell.stdout.readline())
        below = {process.pid for process in descendants(os.getpid(), all_processes())}
        assert {shell.pid, sleeper} <= below
        assert os.getpid() not in below
        assert os.getppid() not in below
        os.kill(sleeper, signal.SIGKILL)
