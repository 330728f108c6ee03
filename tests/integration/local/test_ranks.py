"""What a rank finds around it: its identity, its world, its secrets, its output file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from adapters.errors import RefusedError
from streams.messages.calls import Output, StartCall
from streams.messages.spec import Run, SecretRef
from streams.messages.values import CauseKind, Phase
from tests.conformance.local_world import LocalWorld
from tests.conformance.scheduler_world import Job
from tests.integration.local.jobs import begin, ends, start_call

DUMP = """
import json
with open(f"{sys.argv[1]}-env-{os.environ['DISPATCH_RUN']}-{os.environ['RANK']}", "w") as file:
    json.dump({**os.environ, "cwd": os.getcwd(), "stdin": os.read(0, 10).decode()}, file)
"""


def environment(world: LocalWorld, rank: int, run: int = 0) -> dict[str, str]:
    found: dict[str, str] = json.loads(Path(f"{world.marks}-env-{run}-{rank}").read_text())
    return found


async def test_each_rank_has_the_identity_of_its_execution_and_its_place_in_the_world(
    world: LocalWorld, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPATCH_NATS_CREDS", "/somewhere/secret.creds")
    ref = await begin(world, job, DUMP, ranks=2, env={"BATCH": "32", "RANK": "9"})
    assert (await ends(job, ref)).kind is CauseKind.COMPLETED
    for rank in (0, 1):
        found = environment(world, rank)
        ours = {name: value for name, value in found.items() if name.startswith("DISPATCH_")}
        assert ours == {
            "DISPATCH_TENANT": "nlp",
            "DISPATCH_JOB": "llama",
            "DISPATCH_SUBMISSION": "1",
            "DISPATCH_RUN": "0",
            "DISPATCH_EPOCH": "1000000",
        }
        names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "BATCH", "stdin")
        assert [found[name] for name in names] == [str(rank), str(rank), "2", "2", "127.0.0.1", "32", ""]
        assert found["cwd"] == str(world.state_dir.parent)
        assert found["PATH"] == os.environ["PATH"]
    assert environment(world, 0)["MASTER_PORT"] == environment(world, 1)["MASTER_PORT"]
    assert 0 < int(environment(world, 0)["MASTER_PORT"]) < 65536


async def test_the_next_run_has_the_next_epoch(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, DUMP)
    await ends(job, ref)
    await job.requeue(ref, 0)
    await job.open(ref, 1)
    await job.reaches(ref, Phase.ENDED, run=1)
    assert (environment(world, 0, 1)["DISPATCH_RUN"], environment(world, 0, 1)["DISPATCH_EPOCH"]) == ("1", "1000001")


async def test_a_script_is_run_by_sh_as_it_stands(world: LocalWorld, job: Job) -> None:
    script = 'set -e\necho "rank $RANK of $WORLD_SIZE: it\'s {fine} $(echo \\`)" > "script-$RANK"\nexit 4\n'
    ref = await begin(world, job, "", run=Run(script=script))
    cause = await ends(job, ref)
    assert (cause.kind, cause.exit_code) == (CauseKind.EXIT_CODE, 4)
    assert (world.state_dir.parent / "script-0").read_text() == "rank 0 of 1: it's {fine} `\n"


async def test_output_goes_where_the_template_says_one_file_a_rank_and_run(world: LocalWorld, job: Job) -> None:
    template = "out/{tenant}.{job}/{submission}.{run}-{epoch}/{rank}.log"
    then = "print('and an error', file=sys.stderr)"
    ref = await begin(world, job, then, ranks=2, output=template)
    await ends(job, ref)
    folder = world.state_dir.parent / "out" / "nlp.llama" / "1.0-1000000"
    assert sorted(path.name for path in folder.iterdir()) == ["0.log", "1.log"]
    assert (folder / "1.log").read_text() == "rank 1 began\nand an error\n"
    output = await world.adapter.read_output(job.name, ref, 0, 1)
    assert output.data == b"rank 1 began\nand an error\n"
    assert output.source == "out/nlp.llama/1.0-1000000/1.log"
    assert output.written_at is not None
    assert abs(output.written_at.timestamp() - (folder / "1.log").stat().st_mtime) < 0.001


async def test_output_of_another_run_or_of_no_rank_is_not_made_up(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "")
    await ends(job, ref)
    assert await world.adapter.read_output(job.name, ref, 1, 0) == Output()
    with pytest.raises(RefusedError, match="ranks 0 to 0, not 1"):
        await world.adapter.read_output(job.name, ref, 0, 1)


async def test_a_pipe_at_the_place_of_an_output_is_refused_to_readers_and_holds_up_nobody(
    world: LocalWorld, job: Job
) -> None:
    then = "os.unlink('out-0'); os.mkfifo('out-0'); time.sleep(3600)"
    ref = await begin(world, job, then, output="out-{rank}")
    while not (world.state_dir.parent / "out-0").is_fifo():
        await world.pass_time(world.step_s)
    for _ in range(2):
        with pytest.raises(RefusedError, match="output of rank 0 cannot be read: it is a pipe"):
            await world.adapter.read_output(job.name, ref, 0, 0)
    await job.stop(ref)
    assert (await ends(job, ref)).kind is CauseKind.STOPPED


async def test_a_run_whose_output_would_be_a_pipe_does_not_begin_and_says_why(world: LocalWorld, job: Job) -> None:
    os.mkfifo(world.state_dir.parent / "out-1")
    cause = await ends(job, await begin(world, job, "time.sleep(3600)", ranks=2, output="out-{rank}"))
    assert cause.kind is CauseKind.LAUNCH_FAILED
    assert cause.raw["error"] == ("rank 1: output file: it is a pipe, a socket, a device or a folder, not a file")
    assert await job.alive() == 0


async def test_output_may_be_thrown_away(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "", output="/dev/null")
    assert (await ends(job, ref)).kind is CauseKind.COMPLETED
    assert (await world.adapter.read_output(job.name, ref, 0, 0)).data == b""


async def test_a_long_output_is_read_in_pieces_of_64_kib(world: LocalWorld, job: Job) -> None:
    ref = await begin(world, job, "print('x' * 100_000)")
    await ends(job, ref)
    first = await world.adapter.read_output(job.name, ref, 0, 0)
    second = await world.adapter.read_output(job.name, ref, 0, 0, offset=first.next)
    assert len(first.data) == 65536
    assert first.data + second.data == b"rank 0 began\n" + b"x" * 100_000 + b"\n"
    assert second.next == len(first.data + second.data)
    assert Path(first.source).read_bytes() == first.data + second.data


async def test_a_secret_comes_from_its_file_and_is_nowhere_else(world: LocalWorld, job: Job) -> None:
    secret = world.state_dir / "secrets" / "hf" / "token"
    secret.parent.mkdir(parents=True)
    secret.write_text("s3cr3t\n")
    secret.chmod(0o600)
    env_from = (SecretRef(name="HF_TOKEN", secret="hf", key="token"),)
    ref = await begin(world, job, DUMP, env_from=env_from)
    await ends(job, ref)
    assert environment(world, 0)["HF_TOKEN"] == "s3cr3t"
    holders = [path for path in world.state_dir.rglob("*") if path.is_file() and b"s3cr3t" in path.read_bytes()]
    assert holders == [secret]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"nodes": 2}, "nodes is 2, must be 1"),
        ({"ranks_per_node": 9}, "needs 9 slots, this host has 8"),
        ({"run": Run(command=("true",), image="registry/train:1")}, "remove run.image"),
        ({"output": "{job.__class__}"}, "is unknown; there are tenant, job"),
        (
            {"env_from": (SecretRef(name="A", secret="hf", key="absent"),)},
            "no secret store; put the value into secrets",
        ),
        ({"env_from": (SecretRef(name="A", secret="..", key="x"),)}, "must be plain file names"),
        ({"env_from": (SecretRef(name="A", secret="open", key="token"),)}, "others may read it"),
        ({"env_from": (SecretRef(name="A", secret="open", key="pipe"),)}, "what is there is no file"),
    ],
    ids=["nodes", "ranks", "image", "output", "no-secret", "outside", "open-secret", "pipe-secret"],
)
async def test_what_this_host_cannot_do_is_refused_at_start_with_what_to_change(
    world: LocalWorld, job: Job, changes: dict[str, Any], why: str
) -> None:
    readable = world.state_dir / "secrets" / "open" / "token"
    readable.parent.mkdir(parents=True)
    readable.write_text("x")
    readable.chmod(0o644)
    os.mkfifo(readable.with_name("pipe"), 0o600)
    with pytest.raises(RefusedError, match=why):
        await world.adapter.start(await start_call(world, job, "", **changes))
    assert (await job.find()).sightings == ()


async def test_a_start_that_comes_twice_makes_one_object(world: LocalWorld, job: Job) -> None:
    call: StartCall = await start_call(world, job, "")
    assert await world.adapter.start(call) == await world.adapter.start(call)
    assert len((await job.find()).sightings) == 1
