"""Jobs for the local tests: ranks that do what a test says, and where their processes are."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from adapters.local.processes import is_alive
from streams.messages.calls import StartCall
from streams.messages.values import Cause, ObjectRef, Phase
from tests.conformance.local_world import LocalWorld
from tests.conformance.scheduler_world import Job, eventually

# A rank that leaves a process behind, in a session of its own and under another parent, that ignores TERM.
LEAVES = """
def leave():
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    if {close}:
        os.closerange(3, 4096)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + {ready!r} + "; time.sleep(3600)"
    os.execve("/proc/self/exe", ["python3", "-I", "-S", "-c", code], {{}} if {clean} else dict(os.environ))
leave()
{then}
"""


async def begin(world: LocalWorld, job: Job, then: str, *, ranks: int = 1, **changes: Any) -> ObjectRef:
    """Start and open a job whose ranks do this, its spec changed so."""
    ref = await world.adapter.start(await start_call(world, job, then, ranks=ranks, **changes))
    await job.open(ref)
    return ref


async def start_call(world: LocalWorld, job: Job, then: str, *, ranks: int = 1, **changes: Any) -> StartCall:
    call = await job.start_call(attempt=job.calls + 1)
    return msgspec.structs.replace(call, spec=msgspec.structs.replace(world.spec_of(then, ranks=ranks), **changes))


async def ends(job: Job, ref: ObjectRef) -> Cause:
    """Wait for the object's end; its cause."""
    cause = (await job.reaches(ref, Phase.ENDED)).cause
    assert cause is not None
    return cause


def leaves_a_child(folder: Path, *, clean: bool = False, close: bool = False, then: str = "time.sleep(3600)") -> str:
    """`clean`: the child has no environment; `close`: it has no descriptor of ours."""
    ready = f"open('{folder}/child', 'w').write(open('/proc/self/stat').read())"
    return LEAVES.format(ready=ready, clean=clean, close=close, then=then)


async def child_of(world: LocalWorld, folder: Path) -> Callable[[], bool]:
    """Whether the process that was left behind lives, asked once it is ready."""

    async def there() -> str | None:
        return (folder / "child").read_text() or None if (folder / "child").exists() else None

    text = await eventually(world, there, "the child is left")
    pid, started = int(text.split()[0]), int(text.rpartition(") ")[2].split()[19])
    return lambda: is_alive(pid, started)


async def appears(world: LocalWorld, path: Path) -> None:
    async def there() -> bool | None:
        return True if os.path.exists(path) else None  # noqa: PTH110 - a look, in no hurry

    await eventually(world, there, f"{path.name} appears")


def runner_pid(world: LocalWorld, ref: ObjectRef, run: int = 0) -> int:
    """Who runs that run of the object, from the claim on disk."""
    [claim] = world.state_dir.glob(f"objects/*/{ref.id}/runs/{run}/claim")
    return int(json.loads(claim.read_text())["pid"])
