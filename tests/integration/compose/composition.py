"""The whole of compose.yaml on this machine's Docker: brought up, broken on purpose, taken down with nothing left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
IMAGE, BASE = "dispatch-test", "dispatch-test-base"
HEALTHY_WITHIN_S = 360.0
SUPERVISORS = 3
# Run inside a container, so that the daemon may be anywhere: a signal to the process of a name.
SEND = """
import os, sys
from psutil import process_iter

name, number = sys.argv[1], int(sys.argv[2])
lines = {each: " ".join(each.info["cmdline"] or ()) for each in process_iter(["cmdline"])}
(found,) = [each for each, line in lines.items() if name in line and each.pid not in (1, os.getpid())]
found.send_signal(number)
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What a program answered."""

    code: int
    out: str


def run(*words: str, env: dict[str, str] | None = None, within_s: float = 240.0) -> Said:
    """A program's answer, whatever its exit code."""
    done = subprocess.run(
        words, cwd=ROOT, env=os.environ | (env or {}), capture_output=True, text=True, timeout=within_s, check=False
    )
    return Said(done.returncode, done.stdout + done.stderr)


def done(*words: str, env: dict[str, str] | None = None, within_s: float = 240.0) -> str:
    """The answer of a program that must succeed."""
    said = run(*words, env=env, within_s=within_s)
    assert said.code == 0, f"{' '.join(words)}: {said.out}"
    return said.out


def until(met: Callable[[], object], what: str, *, within_s: float = HEALTHY_WITHIN_S) -> None:
    give_up_at = time.monotonic() + within_s
    while not met():
        assert time.monotonic() < give_up_at, f"never came: {what}"
        time.sleep(0.5)  # waits: between two looks from outside


class Composition:
    """One project of compose.yaml, with folders of its own for credentials and job files."""

    def __init__(self, folder: Path, project: str) -> None:
        self.project = project
        self.jobs = folder / "jobs"
        self.jobs.mkdir()
        self.env = {
            "COMPOSE_PROJECT_NAME": project,
            "DISPATCH_IMAGE": IMAGE,
            "NATS_IMAGE": IMAGE,
            "DISPATCH_CREDENTIALS": str(folder / "credentials"),
            "DISPATCH_JOBS": str(self.jobs),
            "DISPATCH_LEASE": "2s",
        }
        plugin = run("docker", "compose", "version").code == 0
        self._compose = ("docker", "compose") if plugin or not shutil.which("docker-compose") else ("docker-compose",)

    def compose(self, *words: str) -> str:
        return done(*self._compose, "-f", str(ROOT / "compose.yaml"), *words, env=self.env)

    def up(self) -> None:
        """Everything, healthy; and a container in which a person's commands are typed."""
        self.compose("up", "--detach", "--scale", f"supervisor={SUPERVISORS}")
        self.compose("run", "--detach", "--name", f"{self.project}-person", "--entrypoint", "sleep 3600", "dispatch")
        for service in ("nats-1", "nats-2", "nats-3", "supervisor", "agent"):
            self.healthy(service)

    def down(self) -> list[str]:
        """Take everything down; what is left of it."""
        self.compose("down", "--volumes", "--remove-orphans", "--timeout", "5")
        ours = ("--filter", f"name={self.project}")
        return [
            line
            for words in (("ps", "--all", "--quiet"), ("volume", "ls", "--quiet"), ("network", "ls", "--quiet"))
            for line in done("docker", *words, *ours).split()
        ]

    def ids(self, service: str) -> list[str]:
        """The containers of a service, ended ones included."""
        labels = (f"com.docker.compose.project={self.project}", f"com.docker.compose.service={service}")
        filters = [word for label in labels for word in ("--filter", f"label={label}")]
        return sorted(done("docker", "ps", "--all", "--quiet", "--no-trunc", *filters).split())

    def state(self, container: str) -> dict[str, Any]:
        (found,) = json.loads(done("docker", "inspect", container))
        state: dict[str, Any] = found["State"]
        return state

    def healthy(self, service: str) -> None:
        """Until Docker itself says so of every container of the service."""

        def all_healthy() -> bool:
            states = [self.state(each) for each in self.ids(service)]
            return all(state["Health"]["Status"] == "healthy" for state in states)

        try:
            until(all_healthy, f"{service} healthy")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.told(service)}") from None

    def told(self, service: str) -> str:
        """Of each container of a service: its state, what its last health checks said, the end of its log."""
        lines: list[str] = []
        for container in self.ids(service):
            state = self.state(container)
            checks = [each["Output"].strip()[-300:] for each in state.get("Health", {}).get("Log", ())]
            log = run("docker", "logs", "--tail", "15", container).out
            lines += [f"{service} {container[:12]}: {state['Status']}", *(f"  check: {each}" for each in checks), log]
        return "\n".join(lines)

    def dispatch(self, *words: str) -> Said:
        """What a person types."""
        return self.inside(f"{self.project}-person", "dispatch", *words)

    def inside(self, container: str, *words: str) -> Said:
        """A program run in a service's container, as that service."""
        return run("docker", "exec", container, *words)

    def write(self, name: str, text: str) -> str:
        path = self.jobs / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)
        return name

    def marks(self) -> list[list[str]]:
        """What the ranks themselves wrote down, in order."""
        (agent,) = self.ids("agent")
        return [line.split() for line in done("docker", "exec", agent, "cat", "marks").splitlines()]

    def kill(self, container: str) -> None:
        """SIGKILL; Docker does not start it again."""
        done("docker", "kill", container)

    def signal(self, container: str, program: str, number: signal.Signals) -> None:
        """A signal to the process of that name in the container, sent from inside of it."""
        told = self.inside(container, "python3", "-c", SEND, program, str(int(number)))
        assert told.code == 0, told.out
