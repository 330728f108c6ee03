"""`make demo`: a real two-rank job survives a killed supervisor and a crash; a second one is cancelled mid-flight.

Everything is real: a nats-server, two supervisors, processes, and the commands a person types. It lives in a
directory of its own, which is removed at the end with everything that ran in it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
ROOT = EXAMPLES.parent
WITHIN_S = 50.0
CRASH_AT = 12

TRAIN = """\
version: 1
cluster: local
ranks_per_node: 2
run:
  command: [{python}, {trainer}, --steps, "30", --crash-at, "{crash_at}", --dir, {directory}/checkpoints]
recovery:
  - {{name: crash, on: [exit-code, signal], do: requeue, budget: 2, backoff: {{first: 1s}}}}
"""

LONG = """\
version: 1
cluster: local
ranks_per_node: 2
stop_grace: 2s
run: {{command: [{python}, {trainer}, --steps, "100000", --dir, {directory}/long]}}
recovery: []
"""


class Demo:
    """One run of the demo in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
        self.up: subprocess.Popen[str] | None = None

    def say(self, text: str) -> None:
        print(f"\n== {text}", flush=True)

    def dispatch(self, *words: str, shown: bool = True) -> str:
        """One command, as a person types it; its output."""
        if shown:
            print(f"$ dispatch {' '.join(words)}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "dispatch.cli", *words],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        if shown:
            print(done.stdout + done.stderr, end="", flush=True)
        if done.returncode not in (0, 21):
            raise SystemExit(f"dispatch {words[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def read(self, *words: str) -> dict[str, object]:
        """The data of one command's JSON document."""
        document: dict[str, dict[str, object]] = json.loads(self.dispatch(*words, "--json", shown=False))
        return document["data"]

    def until(self, what: str, so: Callable[[], bool]) -> None:
        end = time.monotonic() + WITHIN_S
        while not so():
            if time.monotonic() > end:
                raise SystemExit(f"waited {WITHIN_S:.0f}s in vain: {what}")
            time.sleep(0.2)

    def start(self) -> None:
        self.up = subprocess.Popen(
            [sys.executable, "-m", "dispatch.cli", "up", "--slots", "4", "--supervisors", "2"],
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.up.stdout is not None
        for line in self.up.stdout:
            print(line, end="", flush=True)
            if line.startswith("next:"):
                return
        raise SystemExit("dispatch up ended at once")

    def state(self, job: str) -> str:
        return str(self.read("status", job)["state"])

    def events(self, job: str) -> list[dict[str, str]]:
        events = self.read("history", job)["events"]
        assert isinstance(events, list)
        return events

    def has_run(self, job: str) -> bool:
        """Whether it was ever seen running: on a busy machine it may be further by the time one looks."""
        return any(e["code"] == "running" for e in self.events(job))

    def kill_the_supervisor_of(self, job: str) -> None:
        """SIGKILL, without a word, to the process whose decision stands last in the job's history."""
        told = json.loads((self.directory / ".dispatch" / "up.json").read_text())
        owner = next(e["who"] for e in reversed(self.events(job)) if e["kind"] in ("decision", "call"))
        pid = told["supervisors"][owner]
        print(f"$ kill -9 {pid}     # {owner}, which works on {job}", flush=True)
        os.kill(pid, signal.SIGKILL)

    def job_file(self, name: str, text: str) -> str:
        trainer = EXAMPLES / "train.py"
        path = self.directory / f"{name}.yaml"
        words = {"python": sys.executable, "trainer": trainer, "directory": self.directory, "crash_at": CRASH_AT}
        path.write_text(text.format(**words))
        return path.name

    def run(self) -> None:
        self.say("a bus, a local cluster of four slots and two supervisors")
        self.start()
        self.say(f"a job of two ranks; rank 1 will crash once, at step {CRASH_AT}")
        self.dispatch("submit", self.job_file("train", TRAIN), "--name", "train")
        self.until("train runs", lambda: self.has_run("train"))
        self.kill_the_supervisor_of("train")
        self.say("a second job, cancelled while it runs")
        self.dispatch("submit", self.job_file("long", LONG), "--name", "long")
        self.until("long runs", lambda: self.has_run("long"))
        self.dispatch("cancel", "long", "--reason", "the demo", "--yes", "--wait=complete")
        self.say("the first job to its end")
        self.until("train is settled", lambda: self.state("train") in ("succeeded", "failed"))
        self.until("long is settled", lambda: self.state("long") == "cancelled")
        for job in ("train", "long"):
            self.say(f"what happened to {job}, and whether a promise was broken")
            self.dispatch("history", job)
            self.dispatch("verify", job)
        if self.state("train") != "succeeded":
            raise SystemExit("train did not succeed")

    def stop(self) -> None:
        """Stop the tree; then nothing of it may be left."""
        if self.up is not None:
            self.up.send_signal(signal.SIGINT)
            self.up.wait(timeout=WITHIN_S)


def left_over(directory: Path) -> list[str]:
    """Processes that still work in the directory."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(directory) in words and int(process.name) != os.getpid():
            found.append(f"{process.name} {words[:120]}")
    return found


def main() -> int:
    began = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="dispatch-demo-"))
    demo = Demo(directory)
    try:
        demo.run()
    finally:
        demo.stop()
        left = left_over(directory)
        while left and time.monotonic() - began < 2 * WITHIN_S:
            time.sleep(0.1)  # the local cluster's host leaves once nothing is alive
            left = left_over(directory)
        shutil.rmtree(directory, ignore_errors=True)
    print(f"\n== {time.monotonic() - began:.0f}s; nothing is left running" if not left else f"\n== left: {left}")
    return 0 if not left else 1


if __name__ == "__main__":
    sys.exit(main())
