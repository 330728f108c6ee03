"""Services in other languages: the README's commands for the nats program, and the Node.js example, as they stand."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.simulated.adapter import SlurmAdapter
from adapters.simulated.slurm import SlurmCluster, SlurmPace
from dispatch.replica.clusters import Clusters
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from streams import codec
from streams.jetstream.connect import JetStreamBus, connect
from streams.messages.reasons import RefusalCode
from streams.messages.receipts import Answer, Receipt
from tests.conformance.streams_world import LAYOUT, JetStreamWorld, until
from tests.servers.nats import NatsNode, one_node

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "node"
NODE_MODULES = "DISPATCH_TEST_NODE_MODULES"
PUBLISHED, READ = 0, 1


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[NatsNode]:
    async with one_node(tmp_path / "bus") as server:
        yield server


@pytest.fixture
async def bus(node: NatsNode) -> AsyncIterator[JetStreamBus]:
    """A bus with one supervisor at work on a simulated cluster named local."""
    world = JetStreamWorld(node)
    await world.prepare()
    served, read = await connect(world.settings), await connect(world.settings)
    cluster = SlurmCluster(name="local", clock=lambda: datetime.now(UTC), pace=SlurmPace())
    settings = ReplicaSettings(name="sv-a", installation=LAYOUT.installation, lease_s=LAYOUT.lease_s)
    replica = Replica(served, Clusters({"local": SlurmAdapter(cluster)}, None), settings)
    running = asyncio.create_task(replica.run())
    yield read
    replica.stop()
    await running
    await served.close()
    await read.close()


def readme_commands() -> list[str]:
    """The README's lines for the nats program, each with what continues it."""
    section = (ROOT / "README.md").read_text().split("## Publish from your service", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^    (nats .*(?:\n     .*)*)", section, re.MULTILINE)


async def run(node: NatsNode, line: str, *, cwd: Path) -> str:
    """What a shell line prints."""
    environment = {**os.environ, "NATS_URL": node.url, "HOME": str(cwd), "XDG_CONFIG_HOME": str(cwd)}
    child = await asyncio.create_subprocess_shell(
        line, cwd=cwd, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await child.communicate()
    assert child.returncode == 0, (out + err).decode()
    return out.decode()


async def receipt_of(bus: JetStreamBus, command: str) -> Receipt:
    found = await until(lambda: bus.buckets.get_receipt("nlp", command), lambda receipt: receipt is not None)
    assert found is not None
    return found


async def test_the_readmes_commands_submit_a_job_and_read_its_receipt(
    node: NatsNode, bus: JetStreamBus, tmp_path: Path
) -> None:
    commands = readme_commands()
    assert len(commands) == 2
    stored = await run(node, commands[PUBLISHED], cwd=tmp_path)
    assert '"stream":"DISPATCH_COMMANDS"' in stored
    told = await receipt_of(bus, "c-1")
    assert told.answer is Answer.ACCEPTED
    read = await run(node, commands[READ], cwd=tmp_path)
    assert codec.decode_receipt(read[read.index("{") : read.rindex("}") + 1].encode()) == told


async def test_the_same_lines_again_are_one_job_and_another_spec_is_refused(
    node: NatsNode, bus: JetStreamBus, tmp_path: Path
) -> None:
    submit = readme_commands()[PUBLISHED]
    await run(node, submit, cwd=tmp_path)
    first = await receipt_of(bus, "c-1")
    await run(node, submit.replace('"c-1"', '"c-2"'), cwd=tmp_path)
    second = await receipt_of(bus, "c-2")
    assert (second.answer, second.revision) == (Answer.ALREADY, first.revision)
    await run(node, submit.replace('"c-1"', '"c-3"').replace("train.py", "other.py"), cwd=tmp_path)
    third = await receipt_of(bus, "c-3")
    assert third.answer is Answer.REFUSED
    assert third.code is RefusalCode.SPEC_DIFFERS
    assert len([e for e in await bus.history.read("nlp", "toy") if e.revision == first.revision]) == 1


async def test_the_nodejs_example_prints_the_receipt_of_its_job(
    node: NatsNode, bus: JetStreamBus, tmp_path: Path
) -> None:
    modules = os.environ.get(NODE_MODULES)
    assert modules, f"{NODE_MODULES} is not set: scripts/with_clients.sh sets it"
    (tmp_path / "node_modules").symlink_to(modules)
    shutil.copy(EXAMPLE / "submit.mjs", tmp_path)
    printed = json.loads(await run(node, f"node submit.mjs {node.url} from-node", cwd=tmp_path))
    assert (printed["answer"], printed["job"]) == ("accepted", "from-node")
    assert len(await bus.history.read("nlp", "from-node")) > 0


def test_the_nodejs_example_is_ten_lines_of_code() -> None:
    lines = (EXAMPLE / "submit.mjs").read_text().splitlines()
    assert len([line for line in lines if line and not line.startswith(("//", "import"))]) <= 10
