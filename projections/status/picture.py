"""What a status is told from: the record, and what is known beside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from projections.controls import Controls
from projections.record import ALIVE, AttemptRecord, ObjectRecord, Record, RunRecord
from projections.recorded import last_recorded_find, presumed_capabilities
from projections.status import words
from projections.status.state import state_of
from projections.status.view import State
from streams.messages.calls import Capabilities, Inspection
from streams.messages.values import Found, Instant, ObjectRef, Phase, ReplyOutcome, Value


class Around(Value, frozen=True, kw_only=True):
    """What is known beside the record; only `now` is needed. A status says no more than what is here.

    `now`: the clock of whoever tells. `found`: a Find made for this, whose detail is shown. `capabilities` None: no
    agent was asked. `installation`: tells our tags from another's. `read_at`: when the history was read.
    `cluster_read_at`: the last good Find, by heartbeat or bucket. `unreachable_since`: the scheduler is silent.
    `attended` False: no live replica serves this job. `regressed`: why a pass found the history behind (L14).
    `inspections`: what `--live` asked, for each object. `patient` False tells what needs a person by rule alone.
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
        """The Find that was made, or the one last recorded."""
        return self.around.found or last_recorded_find(self.record)

    @cached_property
    def capabilities(self) -> Capabilities | None:
        """What the cluster can do, or usually can; None of a job without a spec."""
        spec = self.record.spec
        return self.around.capabilities or (presumed_capabilities(spec) if spec is not None else None)

    @cached_property
    def as_of(self) -> datetime | None:
        """The scheduler host's time of the Find that this is told from."""
        return self.found.as_of if self.found else None

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
        return self.as_of is not None and self.as_of >= over_at

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
    """Whether it was last seen running, or ending, in a run that no committed open begins (MESSAGES 7)."""
    if held.foreign or held.ignored or held.missing or held.accounted:
        return False
    run = held.run_record(held.run)
    if held.phase is Phase.RUNNING:
        return held.retired or held.alive_again or run is None or not run.authorized
    return held.phase is Phase.ENDING and run is not None and run.started_at is not None and not run.authorized


def all_unknown(attempts: tuple[AttemptRecord, ...]) -> bool:
    """Whether every Start was sent, none was answered clearly and none was found."""
    return bool(attempts) and all(a.unmatched and a.reply is ReplyOutcome.UNKNOWN for a in attempts)
