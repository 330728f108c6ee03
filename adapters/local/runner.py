"""One run of one object, from its claim to its proven end: a process of its own that outlives daemon and supervisors.

Started as `runner FOLDER`, where FOLDER holds the run's plan. Standard library only, so that it starts quickly.

    claim ─▶ start the ranks ─▶ wait ─▶ first failure, order, limit or completion ─▶ `ending`
          ─▶ TERM, after stop_grace KILL, until no process is left ─▶ `ended`

The runner is a child subreaper: as long as it has a child, something of the run lives; when it has none (ECHILD)
and no process bears the run's mark, the run has ceased.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time

from adapters.files import open_file, read_or_none, write_once, write_whole
from adapters.local import memory
from adapters.local.claims import claim_for_me
from adapters.local.processes import (
    MARK,
    Process,
    all_processes,
    bears_mark,
    become_subreaper,
    descendants,
    send,
)
from adapters.local.ranks import Launcher, LaunchError, Rank

ORDER, ENDING, ENDED = "order", "ending", "ended"
ERROR_MAX = 500  # characters: it may name a program, and a program of any length may be asked for
LOOK_EVERY_S = 0.5
PRESS_EVERY_S = 0.1
WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class Plan:
    """What the daemon wrote down for this run (`adapters.local.plan`)."""

    def __init__(self, folder: str) -> None:
        with open(f"{folder}/plan", "rb") as file:
            words = json.load(file)
        self.mark: str = words["mark"]
        self.boot: str = words["boot"]
        self.node: str = words["node"]
        self.bell: str = words["bell"]
        self.argv: list[str] = words["argv"]
        self.workdir: str = words["workdir"]
        self.env: dict[str, str] = words["env"]
        self.secrets: dict[str, str] = words["secrets"]
        self.outputs: list[str] = words["outputs"]
        self.stop_grace_s: float = words["stop_grace_s"]
        self.time_limit_s: float | None = words["time_limit_s"]
        self.signal: str | None = words["signal"]
        self.signal_before_s: float = words["signal_before_s"]
        self.memory_bytes: int | None = words["memory_bytes"]


class Runner:
    """The run's ranks, and how far its end has come."""

    def __init__(self, folder: str, plan: Plan, lock: int) -> None:
        self.folder = folder
        self.plan = plan
        self.lock = lock
        self.ranks: list[Rank] = []
        self.begun = time.monotonic()
        self.warned = plan.signal is None
        self.cause: dict[str, object] | None = None
        self.kill_at = 0.0
        self.ended_by = 0.0
        self.followed: list[float] = []
        self.pressed = False
        self.cgroup: str | None = None

    def run(self) -> None:
        """Run it to its end. Returns once that is on disk."""
        self.heed_order()
        if self.cause is None:
            self.start()
        while self.cause is None or self.anything_left():
            if self.cause is not None:
                self.press()
            number, sender = self.wait()
            self.reap(sender if number == signal.SIGCHLD else 0)
            self.heed_order()
            self.heed_signal(number)
            self.heed_limits()
        self.tell_ended()

    def start(self) -> None:
        plan = self.plan
        try:
            env = {**os.environ, **plan.env, **read_secrets(plan.secrets), MARK: plan.mark}
            launcher = Launcher(plan.argv, env, plan.workdir, self.lock)
            if plan.memory_bytes is not None:
                self.cgroup = launcher.cgroup = memory.make_cgroup(f"run-{plan.mark}", plan.memory_bytes)
            for index, output in enumerate(plan.outputs):
                self.ranks.append(launcher.start(index, output))
            self.ring()
        except LaunchError as error:
            self.end("launch-failed", raw={"error": str(error)[:ERROR_MAX]})

    def wait(self) -> tuple[int, int]:
        """Until something happens, or the next look is due; the signal that came, if any, and from which process."""
        due = LOOK_EVERY_S if self.cause is None else PRESS_EVERY_S
        limit = self.plan.time_limit_s
        if limit is not None and self.cause is None:
            mark = limit if self.warned else limit - self.plan.signal_before_s
            due = min(due, max(mark - self.ran_s(), 0.0))
        came = signal.sigtimedwait(WATCHED, due)
        return (came.si_signo, came.si_pid) if came is not None else (0, 0)

    def ran_s(self) -> float:
        return time.monotonic() - self.begun

    def reap(self, first: int = 0) -> None:
        """Take every exit there is; the first rank that failed, or the last that completed, gives the cause.

        `first`: whose exit came first. Of several SIGCHLD that wait the kernel keeps the first, and who it was from.
        """
        if first:
            with contextlib.suppress(ChildProcessError):
                pid, status = os.waitpid(first, os.WNOHANG)
                self.note_exit(pid, os.waitstatus_to_exitcode(status))
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                self.note_exit(pid, os.waitstatus_to_exitcode(status))
        if self.cause is None and all(rank.status == 0 for rank in self.ranks):
            self.end("completed", exit_code=0)

    def note_exit(self, pid: int, status: int) -> None:
        """One exit: the first rank that fails gives the cause, and how soon the others followed it is kept."""
        for rank in self.ranks:
            if rank.pid == pid and rank.status is None:
                rank.status = status
                if self.cause is not None:
                    self.followed.append(time.monotonic() - self.ended_by)
                elif status:
                    self.end_by(rank, status)

    def end_by(self, rank: Rank, status: int) -> None:
        """The first rank that fails ends the run, and its exit is the cause."""
        if self.cgroup is not None and status == -signal.SIGKILL and memory.oom_kills(self.cgroup):
            self.end("out-of-memory", rank=rank.index, raw={"by": "cgroup", "limit": str(self.plan.memory_bytes)})
        elif status < 0:
            self.end("signal", signal=-status, rank=rank.index)
        else:
            self.end("exit-code", exit_code=status, rank=rank.index)

    def heed_order(self) -> None:
        """A stop or requeue that was put beside the plan; the signal that came with it may be lost.

        A folder that was removed is an order too: nobody could ever end the run any more.
        """
        order = read_or_none(f"{self.folder}/{ORDER}") if self.cause is None else None
        if order is not None:
            self.end("stopped", raw={"by": order.decode("ascii")})
        elif self.cause is None and not os.path.isdir(self.folder):
            self.end("stopped-outside", raw={"by": "its directory was removed"})

    def heed_signal(self, number: int) -> None:
        """Someone else's TERM: our own comes with an order."""
        if self.cause is None and number in (signal.SIGTERM, signal.SIGINT):
            self.end("stopped-outside", raw={"by": f"{signal.Signals(number).name} to the runner"})

    def heed_limits(self) -> None:
        """The time limit, the signal before it, and memory where no cgroup limits it."""
        limit = self.plan.time_limit_s
        if self.cause is None and limit is not None:
            if self.ran_s() >= limit:
                self.end("time-limit", raw={"limit_s": f"{limit:g}"})
            elif not self.warned and self.ran_s() >= limit - self.plan.signal_before_s:
                self.warn()
        if self.cause is None and self.plan.memory_bytes is not None and self.cgroup is None:
            self.heed_memory(self.plan.memory_bytes)

    def warn(self) -> None:
        """The signal before the limit, to every rank and what it has in its group."""
        self.warned = True
        for rank in self.ranks:
            if rank.status is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(rank.pid, signal.Signals[f"SIG{self.plan.signal}"])

    def heed_memory(self, limit: int) -> None:
        used = memory.used_bytes(descendants(os.getpid(), all_processes()), limit)
        if used > limit:
            raw = {"by": "measured", "used": str(used), "limit": str(limit)}
            self.end("out-of-memory", rank=0 if len(self.ranks) == 1 else None, raw=raw)
            self.kill_at = time.monotonic()

    def end(self, kind: str, **words: object) -> None:
        """Begin to end the run, for this cause; it is on disk before anything is signalled."""
        self.cause = {"kind": kind, "nodes": [self.plan.node], **words}
        self.ended_by = time.monotonic()
        self.kill_at = self.ended_by + self.plan.stop_grace_s
        with contextlib.suppress(OSError):  # a full disk keeps no run from being ended
            write_whole(f"{self.folder}/{ENDING}", json.dumps(self.cause).encode(), durable=False)
        self.ring()

    def press(self) -> None:
        """TERM to all that is left, once; KILL to all that is left after the grace, again and again."""
        kill = time.monotonic() >= self.kill_at
        if kill or not self.pressed:
            for process in self.processes():
                send(process, signal.SIGKILL if kill else signal.SIGTERM)
                if not kill:
                    send(process, signal.SIGCONT)
        self.pressed = True

    def processes(self) -> list[Process]:
        """Every process of the run: our descendants, and whatever bears the mark."""
        there = all_processes()
        ours = descendants(os.getpid(), there)
        known = {process.pid for process in ours} | {os.getpid()}
        return ours + [one for one in there if one.pid not in known and bears_mark(one, self.plan.mark)]

    def anything_left(self) -> bool:
        """Whether any process of the run lives: a child of ours, or one that bears the mark."""
        self.reap()
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return bool(self.processes())
        return True

    def tell_ended(self) -> None:
        """Put the end on disk, durably: nothing of this run lives. Tried until it is written, or nobody is to know."""
        if self.cgroup is not None:
            memory.remove_cgroup(self.cgroup)
        ranks = [rank.status for rank in self.ranks]
        words = json.dumps({"cause": self.whole_cause(), "ranks": ranks}).encode()
        while os.path.isdir(self.folder):
            try:
                write_once(f"{self.folder}/{ENDED}", words)
            except OSError:
                time.sleep(1.0)
            else:
                break
        self.ring()

    def whole_cause(self) -> dict[str, object]:
        """The cause, and how many ranks the one that failed first took down: what a person asks next."""
        cause = dict(self.cause or {})
        if cause.get("rank") is not None and self.followed:
            told = {"followed": str(len(self.followed)), "followed_within_s": f"{max(self.followed):.1f}"}
            raw = cause.get("raw")
            cause["raw"] = {**raw, **told} if isinstance(raw, dict) else told
        return cause

    def ring(self) -> None:
        """Wake the daemon, if there is one."""
        with contextlib.suppress(OSError):
            bell = os.open(self.plan.bell, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                os.write(bell, b"r")
            finally:
                os.close(bell)


def read_secrets(paths: dict[str, str]) -> dict[str, str]:
    """The secrets' values by environment name; one newline at the end is the editor's. Raises LaunchError."""
    values = {}
    for name, path in paths.items():
        try:
            with open(open_file(path, os.O_RDONLY), encoding="utf-8") as file:
                values[name] = file.read().removesuffix("\n")
        except (OSError, UnicodeDecodeError):
            raise LaunchError(f"secret for {name} cannot be read") from None
    return values


def main(folder: str) -> None:
    """Claim the run and run it; leave at once if another has claimed it, or nobody may."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    become_subreaper()
    plan = Plan(folder)
    lock = claim_for_me(folder, plan.boot)
    if lock is not None:
        Runner(folder, plan, lock).run()
