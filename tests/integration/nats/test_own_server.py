from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from streams.errors import BusUnreachableError, NotPermittedError
from streams.jetstream.check import Profile, check
from streams.jetstream.connect import BusSettings, connect
from streams.jetstream.server import OwnServer, start_server
from streams.jetstream.setup import setup
from streams.jetstream.wire import Wire
from tests.conformance.streams_world import LAYOUT, an_event
from tests.servers.nats import one_node


def settings_of(server: OwnServer) -> BusSettings:
    return BusSettings(urls=(server.url,), creds=server.seed_file, monitoring_urls=(server.monitoring_url,))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[OwnServer]:
    started = await start_server(tmp_path / "bus")
    wire = Wire(settings_of(started))
    await wire.connect()
    await setup(wire, LAYOUT)
    await wire.close()
    yield started
    await started.stop()


async def test_it_passes_the_start_up_check_of_a_single_machine(server: OwnServer) -> None:
    bus = await connect(settings_of(server))
    (facts,) = await check(bus, Profile.SINGLE)
    assert facts.sync_always
    await bus.close()


async def test_a_second_start_finds_the_one_that_runs(server: OwnServer, tmp_path: Path) -> None:
    again = await start_server(tmp_path / "bus")
    assert (again.pid, again.url) == (server.pid, server.url)


async def test_the_next_start_is_the_same_bus_at_the_same_place(server: OwnServer, tmp_path: Path) -> None:
    bus = await connect(settings_of(server))
    await bus.history.append(an_event(1))
    await bus.close()
    await server.stop()
    assert not psutil.pid_exists(server.pid)
    again = await start_server(tmp_path / "bus")
    assert (again.url, again.monitoring_url) == (server.url, server.monitoring_url)
    bus = await connect(settings_of(again))
    assert len(await bus.history.read("nlp", "llama")) == 1
    await bus.close()
    await again.stop()


async def test_a_crash_is_recovered_from(server: OwnServer, tmp_path: Path) -> None:
    bus = await connect(settings_of(server))
    await bus.history.append(an_event(1))
    psutil.Process(server.pid).kill()
    again = await start_server(tmp_path / "bus")
    assert again.pid != server.pid
    assert len(await bus.history.read("nlp", "llama")) == 1
    await bus.close()
    await again.stop()


async def test_only_the_owner_may_read_its_files_and_only_the_seed_opens_it(server: OwnServer, tmp_path: Path) -> None:
    for name in ("nats.seed", "nats.conf", "nats.ports"):
        assert stat.S_IMODE((tmp_path / "bus" / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "bus").stat().st_mode) == 0o700
    with pytest.raises(NotPermittedError):
        await connect(BusSettings(urls=(server.url,), connect_within_s=5))


async def test_it_listens_on_the_loopback_address_alone(server: OwnServer) -> None:
    listening = {
        connection.laddr.ip
        for connection in psutil.Process(server.pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}


async def test_a_port_that_another_holds_is_told_with_the_servers_own_words(tmp_path: Path) -> None:
    async with one_node(tmp_path / "other") as other:
        with pytest.raises(BusUnreachableError, match="address already in use"):
            await start_server(tmp_path / "bus", port=other.port)
