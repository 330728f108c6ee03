"""`dispatch up` as a person runs it: a process of its own in an empty directory, ended with everything it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dispatch.cli.main import run

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "dispatch.cli.main")
READY_WITHIN_S = 60.0
KEPT = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")


def surroundings(home: Path) -> dict[str, str]:
    """The environment of a person who has set nothing."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
        "USER": "ana",
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
    }


@dataclass
class Here:
    """A directory in which commands are typed, and the `dispatch up` that runs there."""

    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        return surroundings(self.folder)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """A command as a process of its own; ended at the end of the test."""
        process = subprocess.Popen(
            [*PROGRAM, *words],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.processes.append(process)
        return process

    def up(self, *words: str) -> subprocess.Popen[bytes]:
        """`dispatch up`, once its supervisors live."""
        process = self.start("up", *words)
        line_with(process, b"live")
        return process

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def end(self) -> None:
        """Stop everything that was started here, jobs included."""
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def line_with(process: subprocess.Popen[bytes], word: bytes) -> bytes:
    """The first line of its answer that holds the word."""
    assert process.stdout is not None
    give_up_at = time.monotonic() + READY_WITHIN_S
    seen = b""
    while time.monotonic() < give_up_at:
        line = process.stdout.readline()
        seen += line
        if word in line:
            return line
        if not line:
            break
    assert process.stderr is not None
    raise AssertionError(f"{word!r} never came: {seen!r} {process.stderr.read()!r}")


@dataclass
class Typed:
    """What one command line gave."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Type = Callable[..., Typed]


def until(dispatch: Type, words: tuple[str, ...], met: Callable[[Typed], object]) -> Typed:
    """Type it again until it shows what is waited for."""
    give_up_at = time.monotonic() + 60
    while True:
        told = dispatch(*words)
        if met(told):
            return told
        assert time.monotonic() < give_up_at, told.out + told.err


def running(dispatch: Type, here: Here, name: str, text: str) -> None:
    """A job that runs."""
    assert dispatch("submit", here.write(f"{name}.yaml", text), "--name", name).code == 0
    assert dispatch("watch", name, "--until", "running", "--timeout", "60s").code == 0


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    """A `dispatch up` with two supervisors, shared by the tests of a module.

    A shell's background job ignores Ctrl-C, and so do its children, unless they are given their own word on it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    place = Here(tmp_path_factory.mktemp("here"))
    place.up("--supervisors", "2", "--slots", "8", "--stop-jobs")
    yield place
    place.end()


@pytest.fixture
def dispatch(here: Here, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Type:
    """Type a command in that directory; it runs in this process, which saves its start."""
    monkeypatch.chdir(here.folder)
    for name in [name for name in os.environ if name.startswith("DISPATCH_")]:
        monkeypatch.delenv(name)
    for name, value in here.environ.items():
        monkeypatch.setenv(name, value)

    def typed(*words: str) -> Typed:
        capsys.readouterr()
        code = run(words)
        told = capsys.readouterr()
        return Typed(code, told.out, told.err)

    return typed
