"""Who runs a run: one runner or nobody, for good. Standard library only.

A run's folder holds `claim`, made by one link: of any number of runners, and of a daemon that wants none to begin,
one wins. The runner locks the file before it is linked and hands the lock down to all it starts, so the lock is
free only when runner and ranks are dead, whatever they did to their names, groups and environment, and in whatever
container they were.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os

from adapters.files import draft_name, sync_folder, write_all
from adapters.local.processes import is_alive, look_at, pid_namespace

CLAIM = "claim"


class Claim:
    """The runner's identity; `pid` 0: a run that may never begin."""

    __slots__ = ("boot", "namespace", "pid", "started")

    def __init__(self, pid: int, started: int, boot: str, namespace: int) -> None:
        self.pid = pid
        self.started = started
        self.boot = boot
        self.namespace = namespace


def claim_for_me(folder: str, boot: str) -> int | None:
    """Claim the run for this process: the locked descriptor, or None if it is claimed already."""
    me = look_at(os.getpid())
    assert me is not None, "a process sees itself"
    return _claim(folder, Claim(me.pid, me.started, boot, pid_namespace()))


def claim_for_nobody(folder: str, boot: str) -> bool:
    """See to it that the run never begins; False if a runner has claimed it."""
    descriptor = _claim(folder, Claim(0, 0, boot, pid_namespace()))
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def read_claim(folder: str) -> Claim | None:
    """Who claimed the run; None if nobody has."""
    with contextlib.suppress(FileNotFoundError), open(f"{folder}/{CLAIM}", encoding="ascii") as file:
        found = json.load(file)
        return Claim(found["pid"], found["started"], found["boot"], found["namespace"])
    return None


def is_held(folder: str) -> bool:
    """Whether the runner, or anything that inherited its lock, lives."""
    with open(f"{folder}/{CLAIM}", "r+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def runner_lives(claim: Claim, folder: str) -> bool:
    """Whether the runner itself lives. From another pid namespace only its lock can be seen."""
    if claim.namespace == pid_namespace():
        return is_alive(claim.pid, claim.started)
    return is_held(folder)


def _claim(folder: str, claim: Claim) -> int | None:
    path = f"{folder}/{CLAIM}"
    draft = draft_name(path)
    words = {"pid": claim.pid, "started": claim.started, "boot": claim.boot, "namespace": claim.namespace}
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            write_all(descriptor, json.dumps(words).encode("ascii"))
            os.fsync(descriptor)
            os.link(draft, path)
        finally:
            os.unlink(draft)
        sync_folder(folder)
    except FileExistsError:
        os.close(descriptor)
        return None
    except OSError:  # a full disk: nothing of this try is kept, since there will be many
        os.close(descriptor)
        raise
    return descriptor
