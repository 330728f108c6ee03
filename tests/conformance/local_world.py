"""The local adapter as a world: real processes, counted by the marks they write themselves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path

from adapters.local.adapter import LocalAdapter
from adapters.local.processes import Process, all_processes, is_alive, send
from streams.messages.calls import JobName
from streams.messages.spec import JobSpec, Run
from tests.conformance.scheduler_world import Behaviour, Execution, World

# Each process writes one line when it begins: who it is, and its pid with its start time, so that it can be looked for.
MARK = """
import os, sys, time
stat = open("/proc/self/stat").read().rpartition(") ")[2].split()
names = ("TENANT", "JOB", "SUBMISSION", "RUN")
line = " ".join([*(os.environ["DISPATCH_" + name] for name in names), os.environ["RANK"], str(os.getpid()), stat[19]])
marks = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(marks, (line + "\\n").encode())
print("rank", os.environ["RANK"], "began", flush=True)
"""
THEN = {
    Behaviour.COMPLETES: "",
    Behaviour.EXITS_WITH_3: "sys.exit(3)",
    Behaviour.RUNS_ON: "time.sleep(3600)",
}


def program(marks: Path, then: str) -> tuple[str, ...]:
    """A rank that marks its beginning and then does this."""
    return (sys.executable, "-I", "-S", "-c", MARK + then, str(marks))


def read_marks(marks: Path, name: JobName) -> list[tuple[int, int, int, bool]]:
    """(submission, run, rank, alive) of every process of the job that began."""
    if not marks.exists():
        return []
    found = []
    for line in marks.read_text().splitlines():
        tenant, job, submission, run, rank, pid, started = line.split()
        if (tenant, job) == (name.tenant, name.job):
            found.append((int(submission), int(run), int(rank), is_alive(int(pid), int(started))))
    return found


class LocalWorld(World):
    adapter: LocalAdapter

    def __init__(self, folder: Path, *, slots: int = 8) -> None:
        self.marks = folder / "marks"
        self.state_dir = folder / "state"
        self.adapter = LocalAdapter(
            self.state_dir, cluster="conformance", slots=slots, base_dir=folder, reply_within_s=5.0
        )
        self.cluster = "conformance"

    def spec(self, behaviour: Behaviour, *, ranks: int = 1) -> JobSpec:
        return self.spec_of(THEN[behaviour], ranks=ranks)

    def spec_of(self, then: str, *, ranks: int = 1) -> JobSpec:
        run = Run(command=program(self.marks, then))
        env = {"TEST_STATE_DIR": str(self.state_dir)}
        return JobSpec(cluster=self.cluster, run=run, ranks_per_node=ranks, stop_grace=1, env=env)

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def executions(self, name: JobName) -> list[Execution]:
        alive: dict[tuple[int, int], bool] = {}
        for submission, run, _, lives in read_marks(self.marks, name):
            alive[submission, run] = alive.get((submission, run), False) or lives
        return [Execution(submission=s, run=r, alive=lives) for (s, r), lives in alive.items()]

    async def cut(self) -> None:
        """Freeze the host: it answers nothing, and what is in its inbox may land later."""
        os.kill(self.daemon_pid(), signal.SIGSTOP)

    async def heal(self) -> None:
        os.kill(self.daemon_pid(), signal.SIGCONT)

    def daemon_pid(self) -> int:
        return int(json.loads((self.state_dir / "daemon.json").read_text())["pid"])

    async def close(self) -> None:
        """End everything that was started here: the daemon, runners, ranks and what these left."""
        for process in processes_of(self.state_dir):
            send(process, signal.SIGKILL)


def processes_of(state_dir: Path) -> list[Process]:
    """Every process that names this directory in its arguments or its environment, as all of ours do."""
    return [process for process in all_processes() if process.pid != os.getpid() and _names(process, str(state_dir))]


def _names(process: Process, folder: str) -> bool:
    for file in ("cmdline", "environ"):
        with contextlib.suppress(OSError):
            if folder.encode() in Path(f"/proc/{process.pid}/{file}").read_bytes():
                return True
    return False
