"""However `dispatch up` ends, nothing that it started stays behind but the jobs, and these the next one finds."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.acceptance.conftest import PROGRAM, READY_WITHIN_S, Here, line_with

JOB = "version: 1\nname: long\ncluster: local\nrun: {command: [sleep, '3600']}\n"
# Become the leader of the terminal at stdin, as a shell would, and then the command. Whoever runs these tests under nohup
# would have handed its deafness down.
IN_TERMINAL = (
    "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Here]:
    here = Here(tmp_path)
    yield here
    here.end()
    for process in of_place(tmp_path):
        process.kill()


def of_place(folder: Path) -> list[psutil.Process]:
    """Every process that names this place in its command line: bus, supervisors, the host of the jobs, runners."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = " ".join(process.info["cmdline"] or ())
        if str(folder) in words and process.pid != os.getpid():
            found.append(process)
    return found


def started(folder: Path) -> list[psutil.Process]:
    """Bus and supervisors of the `up` that runs in this place."""
    told = json.loads((folder / ".dispatch" / "up.json").read_text())
    bus = int((folder / ".dispatch" / "bus" / "nats.pid").read_text())
    return [psutil.Process(pid) for pid in (bus, *told["supervisors"].values())]


def all_end(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=READY_WITHIN_S)
    assert alive == []


def typed(here: Here, *words: str) -> str:
    done = subprocess.run(
        [*PROGRAM, *words], cwd=here.folder, env=here.environ, capture_output=True, text=True, check=True
    )
    return done.stdout


def a_job_runs(here: Here) -> None:
    typed(here, "submit", here.write("long.yaml", JOB))
    typed(here, "watch", "long", "--until", "running", "--timeout", "60s")


def test_killed_it_leaves_no_bus_and_no_supervisor_and_the_next_one_finds_its_jobs(place: Here) -> None:
    up = place.up()
    a_job_runs(place)
    left = started(place.folder)
    up.kill()
    all_end(left)
    assert any("adapters.local.runner" in " ".join(process.cmdline()) for process in of_place(place.folder))
    place.up()
    assert "RUNNING" in typed(place, "status", "long")


def test_a_closed_terminal_ends_it_in_order(place: Here) -> None:
    terminal, its_end = pty.openpty()
    argv = [sys.executable, "-c", IN_TERMINAL, *PROGRAM, "up"]
    up = subprocess.Popen(
        argv, cwd=place.folder, env=place.environ, stdin=its_end, stdout=its_end, stderr=its_end, start_new_session=True
    )
    os.close(its_end)
    said = b""
    while b"live" not in said:
        said += os.read(terminal, 4096)
    left = started(place.folder)
    os.close(terminal)
    up.wait(READY_WITHIN_S)
    all_end(left)
    assert not (place.folder / ".dispatch" / "up.json").exists()


def test_it_says_that_its_bus_has_ended_and_ends(place: Here) -> None:
    up = place.up()
    bus, *supervisors = started(place.folder)
    bus.kill()
    line_with(up, b"nats-server ended; stopping")
    _, told = up.communicate(timeout=READY_WITHIN_S)
    assert up.returncode not in (0, 1)
    assert b"its nats-server ended" in told
    all_end(supervisors)


def test_under_nohup_a_closed_terminal_is_not_heard(place: Here) -> None:
    was = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        up = place.up()
    finally:
        signal.signal(signal.SIGHUP, was)
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{up.pid}/status").read_text().splitlines())
    assert int(status["SigIgn"], 16) & 1 << signal.SIGHUP - 1


def test_with_stop_jobs_every_tenants_job_is_cancelled_and_the_last_line_says_so(place: Here) -> None:
    up = place.up("--stop-jobs")
    a_job_runs(place)
    typed(place, "submit", "long.yaml", "--tenant", "vision")
    up.send_signal(signal.SIGINT)
    _, told = up.communicate(timeout=READY_WITHIN_S)
    assert (up.returncode, told.decode().splitlines()[-1]) == (0, "stopped; 2 jobs were cancelled")
    assert [process for process in of_place(place.folder) if "runner" in " ".join(process.cmdline())] == []
