"""What a status is told from: the record, and what is known beside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from msgspec.structs import replace

from projections.controls import Controls
from projections.record import ALIVE, AttemptRecord, ObjectRecord, Record, RunRecord, SubmissionRecord
from projections.recorded import last_recorded_find, presumed_capabilities
from projections.status import words
from projections.status.state import state_of
from projections.status.view import State
from streams.messages.calls import Capabilities, Inspection
from streams.messages.values import Found, Instant, ObjectRef, Phase, ReplyOutcome, Value

CLOCKS_APART = timedelta(minutes=1)


class Around(Value, frozen=True, kw_only=True):
    """What is known beside the record; only `now` is needed. A status says no more than what is here.

    `now`: the clock of whoever tells. `found`: a Find made for this, whose detail is shown. `capabilities` None: no
    agent was asked. `installation`: tells our tags from another's. `read_at`: when the history was read.
    `cluster_read_at`: the last good Find, by heartbeat or bucket. `unreachable_since`: the scheduler is silent.
    `attended` False: no live replica serves this job. `regressed`: why a pass found the history behind (L14).
    `inspections`: what `--live` asked, for each object.
    """

    now: Instant
    found: Found | None = None
    capabilities: Capabilities | None = None
    controls: Controls = Controls()
    installation: str | None = None
    read_at: Instant | None = None
    cluster_read_at: Instant | None = None
    unreachable_since: Instant | None = None
    attended: bool | None = None
    regressed: str = ""
    inspections: tuple[tuple[ObjectRef, Inspection], ...] = ()


@dataclass(frozen=True)
class Picture:
    """The record and what is around it, with the questions that every part of a status asks."""

    record: Record
    around: Around

    @property
    def now(self) -> datetime:
        return self.around.now

    @cached_property
    def state(self) -> State:
        return state_of(self.record)

    @cached_property
    def found(self) -> Found | None:
        """The Find that was made, or the one last recorded, dated by what the scheduler's clock must show by now."""
        recorded = last_recorded_find(self.record)
        if self.around.found is not None or recorded is None:
            return self.around.found
        return replace(recorded, as_of=max(recorded.as_of, self._presumed))

    @cached_property
    def capabilities(self) -> Capabilities | None:
        """What the cluster can do, or usually can; None of a job without a spec."""
        spec = self.record.spec
        return self.around.capabilities or (presumed_capabilities(spec) if spec is not None else None)

    @cached_property
    def as_of(self) -> datetime:
        """The scheduler host's time that this is told from. Only for telling: decisions ask the host itself (L10)."""
        return self.found.as_of if self.found else self._presumed

    @property
    def _presumed(self) -> datetime:
        """What the scheduler's clock shows by now at least, if it is not far off; of a silent one, when last read."""
        silent, read_at = self.around.unreachable_since, self.around.cluster_read_at
        presumed = (silent or self.now) - CLOCKS_APART
        return presumed if read_at is None else max(presumed, read_at)

    @property
    def cluster(self) -> str:
        return self.record.spec.cluster if self.record.spec else ""

    @property
    def kubernetes(self) -> bool:
        spec, able = self.record.spec, self.around.capabilities
        return able.first_run > 0 if able is not None else spec is not None and spec.kubeflow is not None

    @cached_property
    def detail(self) -> dict[ObjectRef, str]:
        """What the scheduler says of each object, newest word first: asked live, else of the Find."""
        said = dict(self.around.found.detail) if self.around.found else {}
        for ref, inspection in self.around.inspections:
            if inspection.pending_reason:
                said[ref] = inspection.pending_reason
        return said

    @cached_property
    def canonical(self) -> ObjectRecord | None:
        return self.record.canonical()

    def called(self, ref: ObjectRef | None) -> str:
        """An object as people know it: `slurm 88213`."""
        kind = self.capabilities.kind if self.capabilities else ""
        return words.named(kind, ref.id) if ref is not None else "every object of the job"

    def over(self, over_at: datetime) -> bool:
        """Whether the scheduler's host has passed this time, as far as it was heard."""
        return self.as_of >= over_at

    def over_runs(self) -> list[tuple[ObjectRecord, RunRecord]]:
        """Executions that are over and whose processes are not proven gone, oldest first."""
        return [
            (held, run)
            for held in self.record.objects.values()
            if not held.ignored
            for run in held.unproven
            if run.ended or held.accounted or held.missing
        ]

    def landing(self) -> list[AttemptRecord]:
        """Starts of which no object is known and that may still make one."""
        return [a for a in self.record.attempts if a.unmatched and not self.over(a.over_at)]

    def loose(self) -> list[AttemptRecord]:
        """Starts that were never answered nor found, and can no longer land."""
        return [a for a in self.record.attempts if a.unmatched and self.over(a.over_at)]


def alive(held: ObjectRecord) -> bool:
    """Whether it may still do something, as last seen."""
    return held.phase in ALIVE and not held.accounted


def unauthorized(held: ObjectRecord) -> bool:
    """Whether it was last seen running, or ending, in a run that no committed open begins."""
    if held.foreign or held.ignored or held.missing or held.accounted:
        return False
    run = held.run_record(held.run)
    if held.phase is Phase.RUNNING:
        return held.retired or held.alive_again or run is None or not run.authorized
    return held.phase is Phase.ENDING and run is not None and run.started_at is not None and not run.authorized


def without_answer(picture: Picture, submission: SubmissionRecord) -> tuple[AttemptRecord, ...]:
    """Its Starts that may have made an object, if none was found and each went without an answer; else none."""
    open_attempts = tuple(a for a in submission.attempts if a.unmatched)
    silent = all(a.reply is ReplyOutcome.UNKNOWN or picture.over(a.over_at) for a in open_attempts)
    found = submission.canonical is not None or any(a.object is not None for a in submission.attempts)
    return open_attempts if silent and not found else ()
