"""One run as the daemon sees it: from the files of its runner, and from the processes that bear its mark."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from enum import Enum
from pathlib import Path

import msgspec

from adapters.files import read_or_none, write_once, write_whole
from adapters.local.claims import CLAIM, claim_for_nobody, is_held, read_claim, runner_lives
from adapters.local.plan import PLAN, RunPlan, Site
from adapters.local.processes import (
    MARK,
    Process,
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
from adapters.local.runner import ENDED, ENDING, ORDER
from streams.messages.values import Cause, CauseKind, Value

ROOT = Path(__file__).parents[2]
BOOTSTRAP = "import sys; sys.path.append(sys.argv[1]); from adapters.local.runner import main; main(sys.argv[2])"
SPAWNS_MAX, HEED_WITHIN_S = 3, 5.0


class Stage(Enum):
    """How far a run has come. LOST: its runner is dead and may have left processes."""

    BEGINNING = "beginning"
    RUNNING = "running"
    ENDING = "ending"
    LOST = "lost"
    ENDED = "ended"


class Ended(Value, frozen=True, kw_only=True):
    """The run's end, on disk once, when nothing of it lives. `ranks`: exit codes, or minus the signal."""

    cause: Cause
    ranks: tuple[int | None, ...] = ()


class LocalRun:
    """One run that has begun. What it remembers only paces it: all that matters is on disk."""

    def __init__(self, run: int, folder: Path, mark: str, site: Site) -> None:
        self.run = run
        self.folder = folder
        self.mark = mark
        self.boot = site.boot
        self.node = site.node
        self._spawned = 0
        self._child: Process | None = None
        self._insisted_at: float | None = None
        self._kill_at: float | None = None
        self._found: set[tuple[int, int]] = set()

    def stage(self) -> Stage:
        """Where the run is now. A run of an earlier boot, or of a container that is gone, is ended by this look."""
        if self.ended() is not None:
            return Stage.ENDED
        claim = read_claim(str(self.folder))
        if claim is None:
            return Stage.BEGINNING
        if claim.pid == 0:
            return self._end(CauseKind.STOPPED, "before it began")
        if claim.boot != self.boot:
            return self._end(CauseKind.NODE_LOST, "the machine was rebooted")
        if runner_lives(claim, str(self.folder)):
            return Stage.RUNNING if self.ending() is None else Stage.ENDING
        return Stage.ENDED if self.ended() is not None else Stage.LOST

    def ended(self) -> Ended | None:
        data = read_or_none(self.folder / ENDED)
        return msgspec.json.decode(data, type=Ended) if data is not None else None

    def ending(self) -> Cause | None:
        data = read_or_none(self.folder / ENDING)
        return msgspec.json.decode(data, type=Cause) if data is not None else None

    def begin(self, plan: Callable[[], RunPlan]) -> None:
        """See to it that a runner is on its way. Any number of them may be sent: one claims the run, once."""
        if self._child is not None and is_alive(self._child.pid, self._child.started):
            return
        if self._spawned == SPAWNS_MAX:
            if claim_for_nobody(str(self.folder), self.boot):
                self._end(CauseKind.LAUNCH_FAILED, "the runner did not start")
            return
        self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        if not (self.folder / PLAN).exists():
            write_whole(self.folder / PLAN, msgspec.json.encode(plan()))
        self._child = look_at(spawn_runner(self.folder, self.mark))
        self._spawned += 1

    def order(self, why: str) -> None:
        """Tell the runner to end the run; if none has claimed it yet, none ever will."""
        self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        write_once(self.folder / ORDER, why.encode("ascii"))
        if not claim_for_nobody(str(self.folder), self.boot):
            self._signal_runner(signal.SIGTERM)  # it looks for its order by itself too, every half second

    def insist(self, grace_s: float) -> None:
        """The runner has its order and has not begun to end: kill it once that takes too long, as if it had died."""
        now = time.monotonic()
        if self._insisted_at is None:
            self._insisted_at = now
        elif now - self._insisted_at > grace_s + HEED_WITHIN_S:
            self._signal_runner(signal.SIGKILL)

    def _signal_runner(self, number: int) -> None:
        claim = read_claim(str(self.folder))
        runner = look_at(claim.pid) if claim is not None and claim.pid else None
        if claim is not None and runner is not None and runner.started == claim.started:
            send(runner, number)

    def remains(self) -> list[Process]:
        """What lives of a run whose runner is dead: what bears its mark, holds its lock, or descends from these.

        Also what fell to us, its subreaper after the runner, and bears no mark; and what was found before.
        """
        there = all_processes()
        found = [one for one in there if bears_mark(one, self.mark)]
        if is_held(str(self.folder)):
            lock = (self.folder / CLAIM).stat()
            found += [one for one in there if one not in found and has_open(one, lock.st_dev, lock.st_ino)]
        strays = [one for one in there if one.parent == os.getpid() and not one.executing]
        found += [one for one in strays if not bears_any_mark(one)]
        found += [one for one in there if (one.pid, one.started) in self._found]
        known = {one.pid: one for one in found}
        for one in found:
            known.update({child.pid: child for child in descendants(one.pid, there)})
        known.pop(os.getpid(), None)
        self._found = {(one.pid, one.started) for one in known.values()}
        return list(known.values())

    def clear(self, grace_s: float) -> list[Process]:
        """End what a dead runner left: TERM, after the grace KILL. What still lives; nothing: the run is ended.

        A lock that is held by nobody we can see belongs to another container's process: the run is not over.
        """
        left = self.remains()
        if not left:
            if self._is_gone():
                self._end_lost()
            return []
        now = time.monotonic()
        first = self._kill_at is None
        if self._kill_at is None:
            self._kill_at = now + grace_s
        for process in left:
            if now >= self._kill_at:
                send(process, signal.SIGKILL)
            elif first:
                send(process, signal.SIGTERM)
                send(process, signal.SIGCONT)
        return left

    def _is_gone(self) -> bool:
        """Looked at once more: nothing of the run, nobody with its lock, and no process that cannot be told."""
        return not (is_held(str(self.folder)) or any(is_unclear(one) for one in all_processes()) or self.remains())

    def _end_lost(self) -> None:
        """The runner died and nothing is left: by our order, with its container, or for a reason nobody knows."""
        claim = read_claim(str(self.folder))
        order = read_or_none(self.folder / ORDER)
        if order is not None:
            self._end(CauseKind.STOPPED, f"{order.decode('ascii')}, then the runner died")
        elif claim is not None and claim.namespace != os.stat("/proc/self/ns/pid").st_ino:
            self._end(CauseKind.NODE_LOST, "its pid namespace is gone")
        else:
            self._end(CauseKind.UNKNOWN, "the runner died")

    def _end(self, kind: CauseKind, why: str) -> Stage:
        ended = Ended(cause=Cause(kind=kind, nodes=(self.node,), raw={"by": why}))
        write_once(self.folder / ENDED, msgspec.json.encode(ended))
        return Stage.ENDED


def spawn_runner(folder: Path, mark: str) -> int:
    """Start a runner, detached from us; its pid. It bears the run's mark from its first moment."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DISPATCH_")}
    log = os.open(folder / "runner.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-c", BOOTSTRAP, str(ROOT), str(folder)],
            {**env, MARK: mark},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, null, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
            ],
            setsid=True,
        )
    finally:
        os.close(log)
        os.close(null)


def reap_children() -> None:
    """Take the exits of runners that were started here, so that none stays a zombie."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
