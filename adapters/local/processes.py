"""The processes of this machine, as /proc shows them. Linux only; standard library only, for the runner's sake.

A process is known by its pid and start time, within one boot and one pid namespace: a pid alone is used again.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal

PR_SET_CHILD_SUBREAPER = 36
MARK = "JOB_RUN_MARK"  # in the environment of every process of a run; no setting, read by nobody but the scan
KERNEL_THREAD = 0x00200000
GONE = (FileNotFoundError, ProcessLookupError)
CHUNK = 1 << 17
NOT_OURS = (FileNotFoundError, ProcessLookupError, PermissionError)


class Process:
    """One live process: who it is, whose child, and whether it is in the middle of an exec, its environment unset."""

    __slots__ = ("executing", "name", "parent", "pid", "started", "state")

    def __init__(self, pid: int, name: str, fields: list[str]) -> None:
        self.pid = pid
        self.name = name
        self.state = fields[0]
        self.parent = int(fields[1])
        self.started = int(fields[19])
        self.executing = fields[48] == "0" and self.state not in "ZX" and not int(fields[6]) & KERNEL_THREAD

    def __str__(self) -> str:
        return f"pid {self.pid} ({self.name})"


def look_at(pid: int) -> Process | None:
    """The process with this pid, alive; None if there is none. A zombie is dead unless a thread of it lives on."""
    text = _read(f"/proc/{pid}/stat")
    if not text:
        return None
    # The name stands in brackets and may itself hold brackets and spaces: proc(5).
    name, _, rest = text.decode("utf-8", "replace").partition("(")[2].rpartition(") ")
    process = Process(pid, name, rest.split())
    if process.state in "ZX" and live_task(pid) is None:
        return None
    return process


def live_task(pid: int) -> str | None:
    """The folder in /proc of a thread that runs: of the first one, or of another when that has left."""
    with contextlib.suppress(*GONE):
        for task in os.listdir(f"/proc/{pid}/task"):
            text = _read(f"/proc/{pid}/task/{task}/stat")
            if text and text.rpartition(b") ")[2][:1] not in b"ZX":
                return f"/proc/{pid}/task/{task}"
    return None


def all_processes() -> list[Process]:
    """Every live process that this pid namespace shows."""
    seen = (look_at(int(entry)) for entry in os.listdir("/proc") if entry.isdigit())
    return [process for process in seen if process is not None]


def is_alive(pid: int, started: int) -> bool:
    """Whether the process that started then still lives, and is no other one that was given its pid."""
    process = look_at(pid)
    return process is not None and process.started == started


def descendants(of: int, among: list[Process]) -> list[Process]:
    """Children of `of`, their children, and so on."""
    children: dict[int, list[Process]] = {}
    for process in among:
        children.setdefault(process.parent, []).append(process)
    found, todo = [], list(children.get(of, ()))
    while todo:
        process = todo.pop()
        found.append(process)
        todo.extend(children.get(process.pid, ()))
    return found


def bears_mark(process: Process, mark: str) -> bool:
    """Whether the process was started with this mark in its environment."""
    return f"\0{MARK}={mark}\0".encode() in b"\0" + _read(f"{_folder(process)}/environ") + b"\0"


def bears_any_mark(process: Process) -> bool:
    """Whether the process was started as a part of any run."""
    return f"\0{MARK}=".encode() in b"\0" + _read(f"{_folder(process)}/environ")


def is_unclear(process: Process) -> bool:
    """Whether we may read the process's environment and it is being set up, so that no mark can be seen."""
    if process.executing:
        with contextlib.suppress(*NOT_OURS):
            descriptor = os.open(f"/proc/{process.pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
            os.close(descriptor)
            return True
    return False


def has_open(process: Process, device: int, inode: int) -> bool:
    """Whether the process holds this file open."""
    folder = f"{_folder(process)}/fd"
    with contextlib.suppress(*NOT_OURS):
        for descriptor in os.listdir(folder):
            with contextlib.suppress(*NOT_OURS):
                held = os.stat(f"{folder}/{descriptor}")
                if (held.st_dev, held.st_ino) == (device, inode):
                    return True
    return False


def send(process: Process, number: int) -> None:
    """Signal exactly this process, never a later one with its pid. Gone, or become another user's: nothing happens."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        try:
            descriptor = os.pidfd_open(process.pid)
        except (AttributeError, OSError):  # before Linux 5.3, or forbidden by a container
            if is_alive(process.pid, process.started):
                os.kill(process.pid, number)
            return
        try:
            if is_alive(process.pid, process.started):
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def _folder(process: Process) -> str:
    return f"/proc/{process.pid}" if process.state not in "ZX" else live_task(process.pid) or "/proc/0"


def pid_namespace() -> int:
    """The number of the pid namespace this process is in: a restarted container has another one, in the same boot."""
    return os.stat("/proc/self/ns/pid").st_ino


def become_subreaper() -> None:
    """From now on orphans among this process's descendants become its children: none can slip away to init."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def _read(path: str) -> bytes:
    """A file of /proc, whole; nothing if the process is gone or not ours. Plain calls: a scan reads hundreds."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except NOT_OURS:
        return b""
    try:
        data = os.read(descriptor, CHUNK)
        while data and (more := os.read(descriptor, CHUNK)):
            data += more
        return data
    except NOT_OURS:
        return b""
    finally:
        os.close(descriptor)
