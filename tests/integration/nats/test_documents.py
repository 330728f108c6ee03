"""The programs and the config file that a page shows, run as they stand."""

from __future__ import annotations

import asyncio
import re
import textwrap
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from dispatch.client import Accepted, BusSettings, Stored, Undecided
from dispatch.contexts_yaml import FIELDS, parsed
from dispatch.replica.clusters import Clusters
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from streams.jetstream.wire import Wire
from tests.conformance.streams_world import JetStreamWorld
from tests.servers.nats import one_node
from tests.tidy.sources import ROOT
from tests.unit.dispatch.test_replica import CLUSTER, adapter, at_work


def programs(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text()
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def loaded(program: str, file: Path) -> ModuleType:
    """The program as a module, run from `file`."""
    file.write_text(program)
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_the_page_for_python_submits_and_cancels_with_and_without_an_event_loop(
    world: JetStreamWorld, tmp_path: Path
) -> None:
    first, second = programs("how-to/use-from-python.md")
    with_loop, without = loaded(first, tmp_path / "with_loop.py"), loaded(second, tmp_path / "without.py")
    settings = ReplicaSettings(name="sv-a", installation="inst", lease_s=1.0, heartbeat_s=0.2, drain_s=1.0)
    replica = Replica(await world.connect(), Clusters({CLUSTER: adapter()}, None), settings)
    async with at_work(replica):
        outcome = await with_loop.give(world.settings, CLUSTER)
        assert isinstance(outcome, Accepted)
        assert with_loop.told(outcome) == "it is event 1 of its job"
        events = await asyncio.to_thread(without.stop, world.settings)
    assert events[0] == "JobSubmitted"
    assert "JobCancelled" in events
    assert "takes effect once a supervisor" in with_loop.told(Stored(command="c-1", sequence=1))
    assert "under the same id" in with_loop.told(Undecided(command="c-1"))


async def test_the_accounts_that_the_page_for_tenants_prints_are_a_servers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = programs("how-to/add-tenants.md")
    by_password = re.sub(r"nkey: (U\w+)", r"user: \1, password: \1", program)
    loaded(by_password, tmp_path / "accounts.py")
    async with one_node(tmp_path, more=capsys.readouterr().out) as node:
        url = node.url.replace("//", "//UADMIN:UADMIN@")
        admin = Wire(BusSettings(urls=(url,)))
        await admin.connect()
        assert (await admin.api("STREAM.NAMES", {})).get("streams") is None
        await admin.close()


def test_the_config_file_of_the_page_is_read_and_every_field_is_told(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text()
    block = re.search(r"^    current:.*?(?=^\S)", page, re.MULTILINE | re.DOTALL)
    assert block is not None
    file = parsed(tmp_path / "config.yaml", textwrap.dedent(block[0]).encode())
    assert file.current == "prod"
    assert (file.contexts["prod"].actor, file.contexts["prod"].protect) == ("ana", True)
    assert len(file.contexts["operator"].bus.monitoring) == 3
    told = re.findall(r"^\| `(?:contexts\.NAME)?\.(\w+)`", page, re.MULTILINE)
    assert sorted(told) == sorted(FIELDS)
