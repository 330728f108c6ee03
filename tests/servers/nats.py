"""Real nats-servers for tests: one node or a cluster, on free ports, killed and restarted at will.

Every node syncs each write (`sync_interval: always`). `async with one_node(tmp_path) as node:` is the quick way;
`async with cluster(tmp_path) as nodes:` gives three.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from streams.jetstream.monitor import is_healthy, read_monitor
from streams.jetstream.server import find_server, free_port

READY_WITHIN_S = 60.0


class NatsNode:
    """One nats-server process. `more` is config text, such as accounts; ports stay the same over restarts."""

    def __init__(self, directory: Path, *, name: str = "n1", more: str = "", sync: str = "always") -> None:
        self.directory = directory
        self.name = name
        self.more = more
        self.sync = sync
        self.port = free_port()
        self.monitor_port = free_port()
        self.cluster_port = free_port()
        self.routes: Sequence[NatsNode] = ()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def monitoring_url(self) -> str:
        return f"http://127.0.0.1:{self.monitor_port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} was never started"
        return self._process.pid

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text(errors="replace")

    def spawn(self) -> None:
        """Start the process; `ready` waits until it serves."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "config").write_text(self._config())
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [find_server(), "-c", str(self.directory / "config")], stdout=log, stderr=log
            )

    async def ready(self) -> None:
        give_up_at = time.monotonic() + READY_WITHIN_S
        while not await is_healthy(self.monitoring_url):
            assert self._process is not None, f"{self.name} was never started"
            assert self._process.poll() is None, f"{self.name} ended: {self.log[-2000:]}"
            assert time.monotonic() < give_up_at, f"{self.name} is not ready: {self.log[-2000:]}"
            await asyncio.sleep(0.02)  # waits: between two looks at the server's health

    async def start(self) -> None:
        self.spawn()
        await self.ready()

    def kill(self) -> None:
        """SIGKILL, as a crash of the process would; returns when it is gone."""
        self._signal(signal.SIGKILL)
        self._reap()

    def stop(self) -> None:
        """End in order; nothing happens if it is not running."""
        if self._process is not None and self._process.poll() is None:
            self._signal(signal.SIGCONT)
            self._signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        self._reap()

    def pause(self) -> None:
        """SIGSTOP: alive, and answering nobody."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    async def restart(self) -> None:
        self.stop()
        await self.start()

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, number)

    def _reap(self) -> None:
        if self._process is not None:
            self._process.wait()

    def _config(self) -> str:
        routes = ", ".join(f'"nats://127.0.0.1:{node.cluster_port}"' for node in self.routes)
        peers = (
            f'cluster {{ name: test, listen: "127.0.0.1:{self.cluster_port}", routes: [{routes}] }}' if routes else ""
        )
        return f"""\
server_name: {self.name}
listen: "127.0.0.1:{self.port}"
http: "127.0.0.1:{self.monitor_port}"
jetstream {{ store_dir: "{self.directory / "store"}", sync_interval: {self.sync} }}
{peers}
{self.more}
"""


@asynccontextmanager
async def one_node(directory: Path, *, more: str = "", sync: str = "always") -> AsyncIterator[NatsNode]:
    """A ready server of its own, stopped at the end."""
    node = NatsNode(directory / "n1", more=more, sync=sync)
    try:
        await node.start()
        yield node
    finally:
        node.stop()


@asynccontextmanager
async def cluster(directory: Path, *, size: int = 3, more: str = "") -> AsyncIterator[tuple[NatsNode, ...]]:
    """Servers that have found each other and elected a leader, stopped at the end."""
    nodes = tuple(NatsNode(directory / f"n{number}", name=f"n{number}", more=more) for number in range(1, size + 1))
    for node in nodes:
        node.routes = nodes
    try:
        for node in nodes:
            node.spawn()
        await cluster_ready(nodes)
        yield nodes
    finally:
        for node in nodes:
            node.stop()


async def cluster_ready(nodes: Sequence[NatsNode]) -> None:
    """Until every node serves, knows all others and one leads."""
    for node in nodes:
        await node.ready()
    give_up_at = time.monotonic() + READY_WITHIN_S
    while True:
        meta = [(await read_monitor(node.monitoring_url, "jsz")).get("meta_cluster", {}) for node in nodes]
        if all(view.get("leader") and view.get("cluster_size") == len(nodes) for view in meta):
            return
        assert time.monotonic() < give_up_at, f"no leader among {[node.name for node in nodes]}: {meta}"
        await asyncio.sleep(0.05)  # waits: between two looks at who leads


def node_named(nodes: Sequence[NatsNode], name: str) -> NatsNode:
    """The node whose server name is `name`, such as a stream's leader."""
    return next(node for node in nodes if node.name == name)
