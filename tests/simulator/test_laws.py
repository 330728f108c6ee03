"""The laws hold, whatever goes wrong: on every seed that ever broke one, and on as many new ones as there is time for."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import fields

from tests.simulator.run import run
from tests.simulator.soak import report, soak
from tests.simulator.swarm import SHAPES
from tests.simulator.telling import dump

KEPT = Path(__file__).with_name("seeds.txt")
DIGEST = Path(__file__).with_name("digest.txt")
ROOT = Path(__file__).parents[2]

# How long fresh seeds are tried, and from which one on: .ci/run gives more, and another beginning each time.
SECONDS = float(os.environ.get("SIMULATOR_SECONDS", "20"))
FIRST_SEED = int(os.environ.get("SIMULATOR_SEED", "1"))


def kept() -> list[tuple[int, str | None]]:
    """The seeds that once broke a law, and the shape each is run in."""
    lines = [line.split() for line in KEPT.read_text().splitlines() if line and not line.startswith("#")]
    return [(int(words[0]), None if words[1] == "-" else words[1]) for words in lines]


@pytest.mark.parametrize(("seed", "shape"), kept())
def test_a_seed_that_once_broke_a_law_breaks_none(seed: int, shape: str | None) -> None:
    ran = run(seed, shape=shape)
    assert not ran.broken, f"{ran.law}: {ran.what}; make sim SEED={seed}"


@pytest.mark.timeout(3600)
def test_no_law_breaks_on_fresh_seeds() -> None:
    soaked = soak(itertools.count(FIRST_SEED), seconds=SECONDS)
    assert not soaked.broken, report(soaked)
    assert soaked.seeds >= len(SHAPES)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_cluster_comes_to_rest(shape: str) -> None:
    for seed in range(900_000, 900_010):
        ran = run(seed, shape=shape)
        assert not ran.broken, f"{ran.law}: {ran.what}; make sim SEED={seed} SHAPE={shape}"


def test_a_seed_is_the_same_world_on_every_python_and_under_every_hash_seed() -> None:
    """What is kept may have been told by another Python: whichever runs this compares itself with it."""

    def told(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        run_it = (sys.executable, "-m", "tests.simulator", "digest")
        return subprocess.run(run_it, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout

    here = {told(hash_seed) for hash_seed in ("0", "1", "4711")}
    assert len(here) == 1, "a seed means another world under another hash seed"
    changed = f"a seed means another world: where that was meant, python -m tests.simulator digest > {DIGEST.name}"
    assert here == {DIGEST.read_text()}, changed


def test_a_replay_ends_with_the_record_whole() -> None:
    world = run(77).world
    told, record = dump(world), world.watch.record
    assert record.calls and record.attempts and record.commands
    for call in record.calls.values():
        assert f"CallRecord(call={call.call}, verb={call.verb.value}, " in told
    for attempt in record.attempts:
        assert f"AttemptRecord(submission={attempt.submission}, attempt={attempt.attempt}, " in told
    names = [field.name for field in fields(record) if getattr(record, field.name)]
    assert [name for name in names if f"\n  {name}:" not in told] == []


def test_a_script_of_a_runs_own_draws_is_that_run() -> None:
    first = run(77, trace=True)
    again = run(77, script=first.world.draws.log, trace=True)
    assert again.world.trace == first.world.trace


def test_a_run_that_stops_earlier_is_the_beginning_of_a_longer_one() -> None:
    def busy(steps: int) -> list[str]:
        trace = run(5, steps=steps, trace=True).world.trace or []
        return trace[: next(n for n, line in enumerate(trace) if line.endswith("the quiet phase begins"))]

    short, long = busy(60), busy(200)
    assert short
    assert long[: len(short)] == short
