"""`dispatch up`: bus, local adapter and supervisors in one process tree, in the foreground.

A supervisor that dies is started again; without its bus it ends. When it ends, supervisors drain and the bus stops; when
it is killed, they do the same by themselves. Jobs run on, owned by the local adapter's own host, and are found by the
next `up` in the same directory.

UpError    it cannot start, or go on; the text says why and what to do
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import msgspec

from adapters.files import rotate
from adapters.local import daemon
from adapters.local.adapter import LocalAdapter
from dispatch import packages
from dispatch.setup import new_installation, set_up
from dispatch.supervise import UNSAFE, SuperviseOptions
from streams.jetstream.check import Profile, check
from streams.jetstream.connect import JetStreamBus, connect
from streams.jetstream.layout import Layout
from streams.jetstream.server import LOG_BYTES_MAX, OwnServer, start_server
from streams.jetstream.settings import BusSettings
from streams.owned import make_own
from streams.tied import tied

SHARDS = 8
LOCAL = "local"
LEASE_S = 5.0
RESTART_AFTER_S = 0.5
QUICK_DEATH_S = 5.0
QUICK_DEATHS_MAX = 3
READY_WITHIN_S = 30.0
DRAIN_S = 20.0


class UpError(Exception):
    """`dispatch up` cannot start here, or go on."""


class UpOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`slots` None: this machine's processors. `port` 0: the bus's port of last time, or any free one."""

    directory: Path = Path(".dispatch")
    slots: int | None = None
    supervisors: int = 1
    port: int = 0
    tenant: str = "default"
    lease_s: float = LEASE_S
    heartbeat_s: float = 2.0


class Up:
    """The process tree. `run` returns when told to stop; everything it started but the jobs has then ended."""

    def __init__(self, options: UpOptions, say: Callable[[str], None]) -> None:
        self.options = options
        self.directory = options.directory.resolve()
        self._say = say
        self._stopping = asyncio.Event()
        self._closing: ExitStack = ExitStack()
        self.pids: dict[str, int] = {}

    def stop(self) -> None:
        self._stopping.set()

    async def run(self, before_stop: Callable[[], object] | None = None) -> None:
        """Start everything, stay until stopped, end it in order.

        Raises UpError, and what the bus's start raises. `before_stop` is awaited, supervisors still
        running, if it gives a coroutine.
        """
        try:
            make_own(self.directory)
        except ValueError as error:
            raise UpError(str(error)) from None
        with self._closing:
            self._lock()
            server = await start_server(self.directory / "bus", port=self.options.port, ends_with_us=True)
            try:
                await self._serve(server, before_stop)
            finally:
                (self.directory / "up.json").unlink(missing_ok=True)
                await server.stop()
                daemon.dismiss(self.directory / LOCAL)

    def _lock(self) -> None:
        """One `up` a directory: two would start each other's supervisors again."""
        held: IO[str] = self._closing.enter_context((self.directory / "up.lock").open("w"))
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UpError(f"a dispatch up already runs in {self.directory}: stop it, or use another --dir") from None

    async def _serve(self, server: OwnServer, before_stop: Callable[[], object] | None) -> None:
        settings = BusSettings(
            urls=(server.url,), creds=server.seed_file, monitoring_urls=(server.monitoring_url,), name="dispatch-up"
        )
        layout = Layout(installation=new_installation(), replicas=1, shards=SHARDS, lease_s=self.options.lease_s)
        await set_up(settings, layout)
        bus = await connect(settings)
        try:
            facts = await check(bus, Profile.SINGLE)
            adapter = LocalAdapter(self.directory / LOCAL, slots=self.options.slots, base_dir=Path.cwd())
            self._tell_where(server)
            keepers = [
                asyncio.create_task(self._keep(f"sv-{number}", server, adapter))
                for number in range(1, self.options.supervisors + 1)
            ]
            keepers.append(asyncio.create_task(self._mind(server)))
            try:
                await self._live(bus, keepers)
                names = ", ".join(sorted(self.pids))
                self._say(
                    f"bus ready ({facts[0].version}, sync always) · local: {adapter.settings.slots} slots · {names} live"
                )
                await self._until_stopped(keepers)
                if before_stop is not None and asyncio.iscoroutine(left := before_stop()):
                    await left
            finally:
                for keeper in keepers:
                    keeper.cancel()
                await asyncio.gather(*keepers, return_exceptions=True)
        finally:
            await bus.close()

    async def _until_stopped(self, keepers: list[asyncio.Task[None]]) -> None:
        stopped = asyncio.create_task(self._stopping.wait())
        done, _ = await asyncio.wait({stopped, *keepers}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        for keeper in done - {stopped}:
            await keeper

    async def _live(self, bus: JetStreamBus, keepers: list[asyncio.Task[None]]) -> None:
        """Wait for every supervisor's first heartbeat."""
        wanted = {f"sv-{number}" for number in range(1, self.options.supervisors + 1)}
        until = asyncio.get_running_loop().time() + READY_WITHIN_S
        while not wanted <= set(await bus.buckets.replicas()):
            for keeper in keepers:
                if keeper.done():
                    await keeper
            if self._stopping.is_set():
                return
            if asyncio.get_running_loop().time() > until:
                raise UpError(f"no supervisor came up within {READY_WITHIN_S:.0f}s: see {self.directory}/sv-1.log")
            await asyncio.sleep(0.05)

    async def _mind(self, server: OwnServer) -> None:
        """Raises UpError once the bus has ended; told at once, since the supervisors' drain comes first."""
        last_words = await server.ended()
        self._say("nats-server ended; stopping")
        raise UpError(f"its nats-server ended: {last_words}; jobs run on, start dispatch up again")

    def _tell_where(self, server: OwnServer) -> None:
        """Where commands typed in this directory find the bus."""
        told = {
            "nats": [server.url],
            "monitoring": [server.monitoring_url],
            "creds": str(server.seed_file),
            "tenant": self.options.tenant,
            "cluster": "local",
            "pid": os.getpid(),
            "supervisors": self.pids,
        }
        path = self.directory / "up.json"
        new = path.with_suffix(".new")
        new.write_text(json.dumps(told, indent=1), encoding="utf-8")
        new.chmod(0o600)
        new.replace(path)

    async def _keep(self, name: str, server: OwnServer, adapter: LocalAdapter) -> None:
        """One supervisor, started again whenever it dies, until this task is cancelled; then drained."""
        options = SuperviseOptions(
            nats=(server.url,),
            creds=str(server.seed_file),
            monitoring=(server.monitoring_url,),
            single=True,
            name=name,
            local=str(adapter.state_dir),
            heartbeat_s=self.options.heartbeat_s,
            drain_s=DRAIN_S,
        )
        path = self.directory / f"{name}.json"
        path.write_bytes(msgspec.json.encode(options))
        log_path = self.directory / f"{name}.log"
        quick_deaths = 0
        while True:
            began_at = asyncio.get_running_loop().time()
            process = await _spawn(path, log_path)
            self.pids[name] = process.pid
            self._tell_where(server)
            try:
                code = await process.wait()
            except asyncio.CancelledError:
                await _drain(process)
                raise
            quick = asyncio.get_running_loop().time() - began_at < QUICK_DEATH_S
            quick_deaths = quick_deaths + 1 if quick and code > 0 else 0
            if code == UNSAFE or quick_deaths >= QUICK_DEATHS_MAX:
                raise UpError(f"{name} will not run (exit {code}): see {log_path}")
            self._say(f"{name} died (exit {code}); started again")
            await asyncio.sleep(RESTART_AFTER_S)


def program(options: Path) -> tuple[str, ...]:
    """The command line of one supervisor with these options, with the packages that this process runs."""
    root = str(Path(packages.__file__).resolve().parent.parent)
    begin = "import sys; sys.path.insert(0, sys.argv.pop(1)); from dispatch.supervise import main; sys.exit(main())"
    return (sys.executable, "-P", "-c", begin, root, str(options))


async def _spawn(options: Path, log_path: Path) -> asyncio.subprocess.Process:
    """One supervisor, not in our foreground group, so that Ctrl-C leaves the order of stopping to us; it ends with us."""
    argv = tied(list(program(options)))
    rotate(log_path, LOG_BYTES_MAX)
    with log_path.open("ab") as log:
        return await asyncio.create_subprocess_exec(*argv, stdout=log, stderr=log, start_new_session=True)


async def _drain(process: asyncio.subprocess.Process) -> None:
    """SIGTERM, and after the drain's bound SIGKILL: whoever reads the history carries on."""
    try:
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(DRAIN_S + 5.0):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
    except ProcessLookupError:
        return


def _hear_hang_up(stop: Callable[[], None]) -> None:
    """A closed terminal stops us as SIGTERM does, unless that is ignored, as under nohup; what we say then goes nowhere."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        return
    terminals = [number for number in (1, 2) if os.isatty(number)]

    def hung_up() -> None:
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        for number in terminals:
            os.dup2(null, number)
        os.close(null)
        stop()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hung_up)


async def up(options: UpOptions, say: Callable[[str], None], before_stop: Callable[[], object] | None = None) -> None:
    """Run until SIGINT or SIGTERM, or until the terminal is closed. Raises UpError."""
    tree = Up(options, say)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, tree.stop)
    _hear_hang_up(tree.stop)
    await tree.run(before_stop)
