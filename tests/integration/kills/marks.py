"""What the jobs' own processes wrote of themselves: executions are counted from these, never from the record."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import psutil

# Written by the process itself, one line each, appended in one write.
MARKING = 'echo "$1 $DISPATCH_EPOCH $RANK $$ $(date +%s%N)" >> "$MARKS/$DISPATCH_JOB"'


class Mark(NamedTuple):
    """`kind` is `start` or `end`; `at` in nanoseconds of this machine's clock."""

    kind: str
    epoch: int
    rank: int
    pid: int
    at: int


def script(body: str) -> str:
    """A rank that marks its start, does `body`, and marks its end however that goes; only SIGKILL leaves none."""
    return "\n".join(
        [
            "mark() { " + MARKING + "; }",
            "trap 'mark end; exit 143' TERM",
            "mark start",
            body,
            "code=$?",
            "mark end",
            "exit $code",
        ]
    )


def read(marks: Path, job: str) -> list[Mark]:
    path = marks / job
    lines = path.read_text().splitlines() if path.exists() else []
    found = [
        Mark(kind, int(epoch), int(rank), int(pid), int(at)) for kind, epoch, rank, pid, at in map(str.split, lines)
    ]
    return sorted(found, key=lambda m: m.at)


def executions(marks: list[Mark]) -> list[int]:
    """Epochs that ran, in the order in which they began, once each start."""
    return [m.epoch for m in marks if m.kind == "start" and m.rank == 0]


def overlap(marks: list[Mark]) -> str | None:
    """A sentence if two executions ran at one time, by the processes' own word."""
    running: set[tuple[int, int, int]] = set()
    for mark in marks:
        who = (mark.epoch, mark.rank, mark.pid)
        if mark.kind == "end":
            running.discard(who)
            continue
        others = {r for r in running if r[0] != mark.epoch or r[1] == mark.rank}
        if others:
            return f"{who} began while {sorted(others)} ran"
        running.add(who)
    return None


def processes(written: Path, job: str | None = None) -> list[psutil.Process]:
    """Processes of the jobs that write their marks there, of one job or of all."""
    found = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            ours = environment.get("MARKS") == str(written) and job in (None, environment.get("DISPATCH_JOB"))
            if ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def alive(written: Path, job: str) -> list[str]:
    """What is alive of one job, by the environment that each of its processes inherits; as ids and words."""
    told = []
    for process in processes(written, job):
        try:
            told.append(f"{process.pid} {process.status()} {' '.join(process.cmdline())[:200]}")
        except psutil.NoSuchProcess:
            continue
    return told


def end_all(written: Path) -> None:
    """Nothing of a test outlives it, also of one that failed."""
    for process in processes(written):
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
