"""What dispatch needs of a scheduler: a small required port, and optional capabilities each of their own.

Every call checks its committed deadline on the scheduler's host right before acting (L10): past it, the call
is refused (`RefusedError`) and nothing happens. An object is addressed by its whole `ObjectRef`, never by id alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from streams.messages.calls import (
    Capabilities,
    Cessation,
    HoldCall,
    Inspection,
    JobName,
    OpenCall,
    Output,
    ReleaseCall,
    RequeueCall,
    StartCall,
    StopCall,
    StopJobCall,
)
from streams.messages.values import Found, ObjectRef


class Adapter(Protocol):
    """The required port. Calls raise RefusedError, UnreachableError or OutcomeUnknownError."""

    async def capabilities(self) -> Capabilities:
        """What this cluster can do. Raises UnreachableError."""
        ...

    async def find(self, name: JobName) -> Found:
        """Every object that bears the job's name or tag: complete, or it raises UnreachableError.

        An object at its gate shows the run that would begin next; what it shows as its run never goes back.
        """
        ...

    async def start(self, call: StartCall) -> ObjectRef:
        """Create one object at its gate, carrying `call.tag`; nothing of it runs."""
        ...

    async def open(self, call: OpenCall) -> None:
        """Lift the gate; the scheduler may run it from now on."""
        ...

    async def stop(self, call: StopCall) -> None:
        """Begin to end this one object, gated or running, for good. An ended or absent one: done."""
        ...

    async def stop_job(self, call: StopJobCall) -> None:
        """Begin to end every object that bears the job's name, but those in `call.spare`."""
        ...


@runtime_checkable
class Holds(Protocol):
    """A cluster that can keep an object from running again, beside the gate."""

    async def hold(self, call: HoldCall) -> None:
        """No further run of the object starts; a run in progress goes on."""
        ...

    async def release(self, call: ReleaseCall) -> None: ...


@runtime_checkable
class Requeues(Protocol):
    """A cluster that can run the same object again."""

    async def requeue(self, call: RequeueCall) -> None:
        """End the object's run, if on, and bring the object back to its gate, its run number raised."""
        ...


@runtime_checkable
class Watches(Protocol):
    """A cluster that tells of changes."""

    def watch(self) -> AsyncIterator[JobName]:
        """Names of jobs that may have changed. Wake-ups only: may be lost, repeated, late (L13)."""
        ...


@runtime_checkable
class ProvesCessation(Protocol):
    """A cluster that can tell whether the processes of a run are gone."""

    async def ceased(self, name: JobName, object: ObjectRef, run: int) -> Cessation:
        """Whether a process of that run may still live. Raises UnreachableError.

        A run that may yet begin may run: one that was opened and waits is not ceased.
        """
        ...


@runtime_checkable
class Inspects(Protocol):
    """A cluster that can say what a waiting object waits for. Shown, never appended."""

    async def inspect(self, name: JobName, object: ObjectRef) -> Inspection: ...


@runtime_checkable
class ReadsOutput(Protocol):
    """A cluster whose ranks' logs can be read."""

    async def read_output(self, name: JobName, object: ObjectRef, run: int, rank: int, *, offset: int = 0) -> Output:
        """What one rank wrote, from `offset` (negative: from the end), at most 64 KiB, and which copy of it was read."""
        ...
