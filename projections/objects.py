"""Objects and their runs, as one job's history tells them. Structs and questions, no change."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from streams.messages.values import (
    Cause,
    CessationAnswer,
    CessationBasis,
    Disposition,
    HoldSeen,
    NodeState,
    ObjectRef,
    Phase,
    StopBasis,
    Tag,
    Value,
)

ALIVE = (Phase.GATED, Phase.QUEUED, Phase.RUNNING, Phase.ENDING, Phase.UNCLEAR)


class RunRecord(Value, frozen=True, kw_only=True):
    """One execution of one object. `begun`: processes may exist or have existed.

    `word_as_of`: when the latest word on its processes was given; a look after it that shows the run on takes the
    word back. `again_as_of`: the Find that showed it alive after its end, under the same number.
    """

    run: int
    begun: bool = False
    authorized: bool = False
    opened_at: datetime | None = None
    open_as_of: datetime | None = None
    started_as_of: datetime | None = None
    started_at: datetime | None = None
    ended: bool = False
    ended_as_of: datetime | None = None
    ended_at: datetime | None = None
    cause: Cause | None = None
    nodes: tuple[str, ...] = ()
    answer: CessationAnswer | None = None
    basis: CessationBasis | None = None
    node_states: tuple[NodeState, ...] = ()
    attested: tuple[str, ...] = ()
    attested_by: str | None = None
    proven: bool = False
    word_as_of: datetime | None = None
    again_as_of: datetime | None = None

    @property
    def unspoken(self) -> RunRecord:
        """The run without what was said of processes: those words cover nothing of the execution that follows."""
        return replace(
            self,
            proven=False,
            answer=None,
            basis=None,
            node_states=(),
            attested=(),
            attested_by=None,
            word_as_of=None,
        )


class ObjectRecord(Value, frozen=True, kw_only=True):
    """One object, as last seen. `as_of` None: known from a Start's reply alone, never seen.

    `ended`: the last Find that showed it showed it ended, and every requeue of it was over before that Find
    began, so no call of ours can bring it back. `submission` None: foreign, no attempt of ours made it.
    """

    ref: ObjectRef
    tag: Tag | None = None
    submission: int | None = None
    attempt: int | None = None
    phase: Phase = Phase.UNCLEAR
    hold: HoldSeen = HoldSeen.NONE
    run: int = 0
    cause: Cause | None = None
    end_final: bool = False
    ranks_done: int = 0
    nodes: tuple[str, ...] = ()
    as_of: datetime | None = None
    seen_revision: int = 0
    read_revision: int = 0
    first_revision: int = 0
    since: datetime | None = None
    runs: tuple[RunRecord, ...] = ()
    ended: bool = False
    missing: bool = False
    missing_at: datetime | None = None
    retired: bool = False
    disposition: Disposition | None = None
    verified: StopBasis | None = None
    alive_again: bool = False

    def run_record(self, run: int) -> RunRecord | None:
        return next((r for r in self.runs if r.run == run), None)

    @property
    def foreign(self) -> bool:
        return self.submission is None

    @property
    def ignored(self) -> bool:
        return self.disposition is Disposition.IGNORE

    @property
    def off_limits(self) -> bool:
        """Retired, or a person said to stop it or to leave it alone: no call of ours may bring it to run."""
        return self.retired or self.disposition in (Disposition.IGNORE, Disposition.STOP)

    @property
    def disposed_gone(self) -> bool:
        return self.disposition is Disposition.GONE

    @property
    def unproven(self) -> tuple[RunRecord, ...]:
        """Begun runs whose processes are not proven gone, nor disposed of by a person."""
        if self.disposed_gone:
            return ()
        return tuple(r for r in self.runs if r.begun and not r.proven)

    @property
    def accounted(self) -> bool:
        """What recorded evidence says where the latest Find does not show it (L9)."""
        return self.ended or self.verified is not None or self.disposed_gone or self.ignored
