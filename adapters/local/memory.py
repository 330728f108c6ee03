"""How much memory a run uses, and a cgroup that limits it where one can be made. Standard library only.

Out of memory is said from the cgroup's own event, or from what was measured here, never from a SIGKILL (R18).
"""

from __future__ import annotations

import contextlib
import os

from adapters.local.processes import NOT_OURS, Process

CGROUPS = "/sys/fs/cgroup"
PAGE = os.sysconf("SC_PAGE_SIZE")


def used_bytes(processes: list[Process], limit: int) -> int:
    """What these processes hold in memory. Shared pages count once where it matters: above the limit."""
    resident = sum(_resident(process) for process in processes)
    return resident if resident <= limit else sum(_proportional(process) for process in processes)


def _resident(process: Process) -> int:
    with contextlib.suppress(*NOT_OURS), open(f"/proc/{process.pid}/statm", "rb") as file:
        return int(file.read().split()[1]) * PAGE
    return 0


def _proportional(process: Process) -> int:
    """A page that n processes share counts as a part of n: forked data loaders are not counted n times."""
    with contextlib.suppress(*NOT_OURS), open(f"/proc/{process.pid}/smaps_rollup", "rb") as file:
        for line in file:
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def make_cgroup(name: str, limit: int, *, root: str = CGROUPS, own: str | None = None) -> str | None:
    """A cgroup (v2) of this name with this limit, beside or below our own; None where none can be made.

    `own` is our path below `root`, by default what /proc says.
    """
    own = _own_cgroup() if own is None else own
    if own is None:
        return None
    for parent in (own, os.path.dirname(own)):
        path = os.path.join(root, parent.lstrip("/"), name)
        with contextlib.suppress(OSError):
            os.mkdir(path)
            if _limit(path, limit):
                return path
            os.rmdir(path)
    return None


def oom_kills(path: str) -> int:
    """How many of the cgroup's processes the kernel killed because of its limit."""
    with contextlib.suppress(OSError), open(f"{path}/memory.events", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))
    return 0


def remove_cgroup(path: str) -> None:
    """Take it away; it is empty by now, or stays until the next boot."""
    with contextlib.suppress(OSError):
        os.rmdir(path)


def _limit(path: str, limit: int) -> bool:
    """Whether the memory controller is there and took the limit."""
    with contextlib.suppress(OSError):
        for file, value in (("memory.max", limit), ("memory.swap.max", 0), ("memory.oom.group", 1)):
            descriptor = os.open(f"{path}/{file}", os.O_WRONLY)
            try:
                os.write(descriptor, str(value).encode())
            except OSError:
                if file == "memory.max":
                    raise
            finally:
                os.close(descriptor)
        return True
    return False


def _own_cgroup() -> str | None:
    with contextlib.suppress(OSError), open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            if line.startswith("0::"):
                return line[3:].strip()
    return None
