"""One Slurm job as the controller keeps it, and what a Find shows of it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from adapters.simulated.truth import Execution, Lift
from streams.messages.calls import JobName
from streams.messages.spec import JobSpec
from streams.messages.values import Cause, HoldSeen, ObjectRef, Phase, Sighting, Tag


class JobState(StrEnum):
    """The base states that matter; `completing` is the flag while processes of a run are being ended."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETING = "completing"
    ENDED = "ended"


class Row(StrEnum):
    """What accounting holds of an ended job."""

    NONE = "none"
    LATE = "late"
    WRITTEN = "written"
    LOST = "lost"


class SlurmJob:
    """`held` is priority 0, the one bit that is gate and hold; `label` says whose hold it looks like.

    `lift` says who took the bit off last; `revived` who requeued it, if that was not a call of ours: then whatever
    begins next is theirs, unless it was opened for that very run. `set_aside` is the second bit, on a cluster that
    keeps a hold beside its gate: it stays through a requeue.
    """

    __slots__ = (
        "avoid",
        "cause",
        "executions",
        "held",
        "hidden",
        "label",
        "lift",
        "name",
        "purged",
        "ref",
        "requeueing",
        "revived",
        "row",
        "run",
        "set_aside",
        "shown",
        "since",
        "spec",
        "state",
        "tag",
    )

    def __init__(self, ref: ObjectRef, name: JobName, tag: Tag | None, spec: JobSpec | None, since: datetime) -> None:
        self.ref = ref
        self.name = name
        self.tag = tag
        self.spec = spec
        self.since = since
        self.avoid: tuple[str, ...] = ()
        self.state = JobState.PENDING
        self.held = True
        self.label = HoldSeen.NONE
        self.lift: Lift | None = None
        self.run = 0
        self.set_aside = False
        self.requeueing = False
        self.revived: Lift | None = None
        self.cause: Cause | None = None
        self.row = Row.NONE
        self.purged = False
        self.hidden = False
        self.executions: dict[int, Execution] = {}
        self.shown: Sighting | None = None

    @property
    def alive(self) -> bool:
        """Whether the controller would still act on it."""
        return self.state is not JobState.ENDED

    @property
    def visible(self) -> bool:
        """Whether a Find can see it: by the controller, or by accounting once it was purged."""
        return not self.hidden and (not self.purged or self.row is Row.WRITTEN)

    @property
    def phase(self) -> Phase:
        if self.state is JobState.PENDING:
            return Phase.GATED if self.held else Phase.QUEUED
        if self.state is JobState.RUNNING:
            return Phase.RUNNING
        return Phase.ENDING if self.state is JobState.COMPLETING else Phase.ENDED

    def sighting(self) -> Sighting:
        """The job as a complete Find shows it."""
        if self.shown is None:
            self.shown = self._sighting()
        return self.shown

    def _sighting(self) -> Sighting:
        execution = self.executions.get(self.run)
        ended = self.state is JobState.ENDED
        return Sighting(
            object=self.ref,
            tag=self.tag,
            run=self.run,
            phase=self.phase,
            hold=self._hold(),
            cause=self._cause() if ended else None,
            end_final=ended and self.purged,
            nodes=execution.nodes if execution else (),
        )

    def _hold(self) -> HoldSeen:
        if self.held and self.state is JobState.PENDING and self.label is not HoldSeen.NONE:
            return self.label
        return HoldSeen.USER if self.set_aside else HoldSeen.NONE

    def _cause(self) -> Cause | None:
        if self.cause is None or self.row is not Row.LATE:
            return self.cause
        return msgspec.structs.replace(self.cause, final=False)
