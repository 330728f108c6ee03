"""Ranks of one run: each a process in a session of its own, with its output in a file. Standard library only."""

from __future__ import annotations

import fcntl
import os
import signal

from adapters.files import open_file

IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class LaunchError(Exception):
    """A rank could not be started; the text says which step failed, without any path."""


class Rank:
    """One rank; `status` is its exit code, or minus the signal that ended it; None while it runs."""

    __slots__ = ("index", "pid", "status")

    def __init__(self, index: int, pid: int) -> None:
        self.index = index
        self.pid = pid
        self.status: int | None = None


class Launcher:
    """What the ranks of one run have in common. `lock` goes down to all of them; `cgroup` takes them in."""

    def __init__(self, argv: list[str], env: dict[str, str], workdir: str, lock: int) -> None:
        self.argv = argv
        self.env = env
        self.workdir = workdir
        self.lock = lock
        self.cgroup: str | None = None

    def start(self, index: int, output: str) -> Rank:
        """Start one rank. Raises LaunchError if its program, directory, output file or process cannot be had."""
        if not os.path.isdir(self.workdir):
            raise LaunchError(f"rank {index}: workdir: no such directory")
        try:
            os.makedirs(os.path.dirname(output), exist_ok=True)
            log = open_file(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise LaunchError(f"rank {index}: output file: {error.strerror}") from None
        env = {**self.env, "RANK": str(index), "LOCAL_RANK": str(index), "PWD": self.workdir}
        try:
            pid, failure = self._fork(env, log)
        except OSError as error:
            raise LaunchError(f"rank {index}: process: {error.strerror}") from None
        finally:
            os.close(log)
        if failure:
            os.waitpid(pid, 0)
            raise LaunchError(f"rank {index}: {failure}")
        return Rank(index, pid)

    def _fork(self, env: dict[str, str], log: int) -> tuple[int, str]:
        """The child's pid, and what failed on its way to the rank's program: nothing once it is that program."""
        told, tell = os.pipe()
        with os.fdopen(told, "rb") as answer:
            try:
                pid = os.fork()
                if pid == 0:
                    self._become(env, log, tell)
            finally:
                os.close(tell)
            return pid, answer.read().decode()

    def _become(self, env: dict[str, str], log: int, tell: int) -> None:
        """In the child: turn into the rank's program. What fails goes back through the pipe, which exec closes."""
        step = "session"
        try:
            os.setsid()
            for number in IGNORED_BY_PYTHON:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            fcntl.fcntl(self.lock, fcntl.F_SETFD, 0)
            step = "cgroup"
            if self.cgroup is not None:
                with open(f"{self.cgroup}/cgroup.procs", "w", encoding="ascii") as procs:
                    procs.write("0")
            step = "workdir"
            os.chdir(self.workdir)
            step = "command"
            os.execvpe(self.argv[0], self.argv, env)  # noqa: S606 - the job's own program, as a list
        except (OSError, ValueError) as error:
            why = (error.strerror or "fails") if isinstance(error, OSError) else "holds a zero byte"
            os.write(tell, f"{step}: {why}".encode())
        finally:
            os._exit(127)
