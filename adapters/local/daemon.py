"""The host process of one directory: detached, one at a time, started by whoever calls, gone when nobody needs it.

`daemon STATE_DIR`. Killed anywhere, it is replaced by one that reads the directory; jobs run on meanwhile.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from adapters import wire
from adapters.clock import HostClock, read_boot_id
from adapters.errors import AdapterError, OutcomeUnknownError, RefusedError
from adapters.files import rotate, write_whole
from adapters.local.calls import answer
from adapters.local.host import LocalHost
from adapters.local.inbox import Bell, Inbox
from adapters.local.processes import become_subreaper
from adapters.local.settings import SETTINGS, read_settings

LOCK, WHO, LOG = "daemon.lock", "daemon.json", "daemon.log"
LOG_BYTES_MAX = 10 * 1024 * 1024
LOCK_WITHIN_S = 2.0
BUSY_TICK_S, IDLE_TICK_S, SWEEP_EVERY_S = 0.2, 1.0, 60.0
ROOT = Path(__file__).parents[2]
BOOTSTRAP = "import sys; sys.path.append(sys.argv[1]); from adapters.local.daemon import main; main(sys.argv[2])"
log = logging.getLogger("adapters.local.daemon")


class Daemon:
    """Serves one directory until it is told to leave, or has been idle for long enough."""

    def __init__(self, state_dir: Path, lock: int, *, wall_ns: Callable[[], int] = time.time_ns) -> None:
        settings = read_settings(state_dir)
        if settings is None:
            raise FileNotFoundError(f"{state_dir / SETTINGS}: an adapter makes it")
        boot = read_boot_id(Path(settings.boot_id_path))
        self.state_dir = state_dir
        self.lock = lock
        self.inbox = Inbox(state_dir)
        self.bell = Bell(state_dir)
        self.host = LocalHost(
            state_dir, settings, HostClock(state_dir / "clock", boot=boot, wall_ns=wall_ns), boot=boot
        )
        self.leaving = self.dismissed = False
        self._settings_at = 0
        self._called_at = self._swept_at = time.monotonic()

    def serve(self) -> None:
        """Take up what an earlier daemon left, then requests and runs, until it is time to leave."""
        for request in self.inbox.left_over():
            self.handle(request, again=True)
        while not self.leaving and self.is_ours():
            self.follow_settings()
            for request in self.inbox.waiting():
                if self.inbox.take(request):
                    self.handle(request)
            self.host.tend()
            self.sweep()
            if self.is_idle():
                break
            self.bell.wait(BUSY_TICK_S if self.host.busy else IDLE_TICK_S)

    def handle(self, request: str, *, again: bool = False) -> None:
        """Act on one request, to its end, before the next is looked at. `again`: an earlier host may have acted on it."""
        self._called_at = time.monotonic()
        try:
            self.inbox.answer(request, wire.encode(self.reply_to(request, again=again)))
        except OSError:  # the caller hears nothing, which is the truth; the next daemon takes it up again
            log.exception("reply to %s", request)

    def reply_to(self, request: str, *, again: bool) -> wire.Reply:
        """What came of the request; of a call taken up again and not done now, that nobody knows (L9)."""
        asked: wire.Request | None = None
        try:
            asked = wire.decode_request(self.inbox.read(request))
            return answer(self.host, asked)
        except AdapterError as error:
            told = error
        except msgspec.DecodeError as error:
            told = RefusedError(f"not a request: {error}")
        except Exception:  # any: what else an adapter raises counts as unknown (adapters.errors); the next is served
            log.exception("request %s", request)
            told = OutcomeUnknownError("the host failed; daemon.log in its directory says how")
        if again and (asked is None or wire.is_call(asked)):  # "not now" does not say "not then"
            told = OutcomeUnknownError(
                f"an earlier host took the call and died; taken up again, it was not done: {told}"
            )
        return wire.failed(told)

    def is_ours(self) -> bool:
        """Whether the directory is the one we locked, and not another that was made where it had been removed."""
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(self.lock), (self.state_dir / LOCK).stat())
        return False

    def follow_settings(self) -> None:
        """Slots and folders may be changed while it runs; a file that cannot be read changes nothing."""
        changed_at = (self.state_dir / SETTINGS).stat().st_mtime_ns
        if changed_at == self._settings_at:
            return
        self._settings_at = changed_at
        try:
            settings = read_settings(self.state_dir)
        except msgspec.DecodeError as error:
            log.warning("%s cannot be read: %s", SETTINGS, error)
            return
        if settings is not None:
            self.host.take_settings(settings)

    def sweep(self) -> None:
        if time.monotonic() - self._swept_at > SWEEP_EVERY_S:
            self._swept_at = time.monotonic()
            self.inbox.sweep()

    def is_idle(self) -> bool:
        """Nothing is alive and nobody has called for a while. A request that comes now starts another daemon."""
        quiet_s = time.monotonic() - self._called_at
        long_enough = self.dismissed or quiet_s > self.host.settings.idle_s
        return not self.host.busy and long_enough and not self.inbox.waiting()

    def leave(self, *_: object) -> None:
        self.leaving = True
        self.bell.ring()

    def dismiss(self, *_: object) -> None:
        """Leave as soon as nothing is alive, without waiting for callers."""
        self.dismissed = True
        self.bell.ring()


def hold_lock(state_dir: Path) -> int | None:
    """The directory's lock, ours until we die; None if another daemon has it."""
    lock = os.open(state_dir / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + LOCK_WITHIN_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:  # a daemon, or a caller that looks whether there is one
            if time.monotonic() > until:
                os.close(lock)
                return None
            time.sleep(0.02)


def is_up(state_dir: Path) -> bool:
    """Whether a daemon serves this directory, frozen or not."""
    try:
        lock = os.open(state_dir / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def dismiss(state_dir: Path) -> None:
    """Let the daemon that serves this directory leave as soon as nothing is alive; nothing to do if there is none."""
    try:
        told = json.loads((state_dir / WHO).read_bytes())
        if is_up(state_dir):
            os.kill(told["pid"], signal.SIGUSR1)
    except (FileNotFoundError, ProcessLookupError):
        return


def spawn(state_dir: Path, command: tuple[str, ...] | None = None) -> int:
    """Start a daemon, in a session of its own; its pid. If another one has the lock it leaves at once."""
    argv = command or (sys.executable, "-P", "-c", BOOTSTRAP, str(ROOT))
    rotate(state_dir / LOG, LOG_BYTES_MAX)
    output = os.open(state_dir / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, output, 2)]
    try:
        return os.posix_spawn(argv[0], [*argv, str(state_dir)], os.environ, file_actions=actions, setsid=True)
    finally:
        os.close(output)
        os.close(null)


def run(state_dir: Path, *, wall_ns: Callable[[], int] = time.time_ns) -> None:
    """Serve the directory if nobody does. `wall_ns` is the clock that may be set; the host's own never goes back."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    lock = hold_lock(state_dir)
    if lock is None:
        return
    become_subreaper()  # what a dead runner leaves falls to us
    daemon = Daemon(state_dir, lock, wall_ns=wall_ns)
    signal.signal(signal.SIGTERM, daemon.leave)
    signal.signal(signal.SIGUSR1, daemon.dismiss)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    write_whole(state_dir / WHO, json.dumps({"pid": os.getpid()}).encode(), durable=False)
    daemon.serve()
    if daemon.is_ours():
        (state_dir / WHO).unlink()


def main(state_dir: str) -> None:
    """Serve the directory, from nowhere: the caller's own directory may be removed."""
    os.chdir("/")
    run(Path(state_dir))
