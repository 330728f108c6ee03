"""Calls, runs and objects, in the verifier's own words.

A run began if an open, admit or release of it was committed and not clearly refused, or if it was seen running or
ending, or ended with nodes. `reading` fills these; the laws ask them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from streams.messages.values import (
    Cause,
    CessationAnswer,
    CessationBasis,
    Disposition,
    NodeState,
    ObjectRef,
    Phase,
    ReplyOutcome,
    Verb,
)

BEGINS = (Verb.OPEN, Verb.ADMIT, Verb.RELEASE)
CAN_LAND = (Verb.OPEN, Verb.ADMIT, Verb.RELEASE, Verb.REQUEUE)
LIVE = (Phase.RUNNING, Phase.ENDING)


class Look(NamedTuple):
    """One Find, as its evidence tells it, and where it stands in the history."""

    as_of: datetime
    read_revision: int
    revision: int
    number: int


@dataclass
class CallFacts:
    """One committed call, an attempt's Start included. `retry`: refused, and nothing was done.

    `sweeps`: a stop by name, committed when nothing could land any more that it might miss.
    """

    call: int
    verb: Verb
    revision: int
    number: int
    event_id: str
    over_at: datetime
    as_of: datetime | None = None
    object: ObjectRef | None = None
    run: int | None = None
    instances: frozenset[str] = frozenset()
    reply: ReplyOutcome | None = None
    reply_revision: int = 0
    retry: bool = False
    made: ObjectRef | None = None
    sweeps: bool = False

    @property
    def answered(self) -> bool:
        """Done or refused: `unknown` is no answer (L9)."""
        return self.reply in (ReplyOutcome.DONE, ReplyOutcome.REFUSED)

    @property
    def refused(self) -> bool:
        return self.reply is ReplyOutcome.REFUSED

    @property
    def what(self) -> str:
        return f"call {self.call} ({self.verb.value})"

    def over(self, as_of: datetime | None) -> bool:
        """Whether it can no longer land: clearly answered, or the host's clock has passed its bound (L10)."""
        return self.answered or (as_of is not None and as_of >= self.over_at)

    def over_before(self, look: Look) -> bool:
        """Whether it was over before this Find began, which the writer had read up to `look.read_revision`."""
        if self.revision > look.read_revision:
            return False
        return (self.answered and self.reply_revision <= look.read_revision) or look.as_of >= self.over_at


class Word(NamedTuple):
    """One word on a run's processes."""

    answer: CessationAnswer
    basis: CessationBasis
    as_of: datetime
    revision: int
    nodes: tuple[NodeState, ...]


@dataclass
class RunFacts:
    """One execution of one object, if it began at all. `opens`: the calls that were to begin it.

    `alive_at` is the host's time at which it was last seen alive; `again_revision` of the event that showed it alive
    after it had been seen ended. `adopted`: a person took the object for ours while this run was on.
    """

    run: int
    opens: list[CallFacts] = field(default_factory=list)
    adopted: bool = False
    alive_at: datetime | None = None
    alive_number: int = 0
    unauthorized_number: int = 0
    unauthorized_revision: int = 0
    again_revision: int = 0
    ending_seen: bool = False
    ended: bool = False
    ended_with_nodes: bool = False
    nodes: set[str] = field(default_factory=set)
    causes: list[Cause] = field(default_factory=list)
    stale_causes: list[Cause] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)

    @property
    def ran(self) -> bool:
        """It was seen to run, or to have run."""
        return self.alive_at is not None or self.ended_with_nodes

    @property
    def begun(self) -> bool:
        """Processes may exist or have existed. An open that was clearly refused began nothing."""
        return self.ran or any(not call.refused for call in self.opens)

    @property
    def proven(self) -> bool:
        """Every process of it is gone, said by a word that was spoken after it last began (L4)."""
        opened = [call for call in self.opens if not call.refused]
        since = max([call.revision for call in opened] + [self.again_revision])
        covering = [w for w in self.words if w.revision > since]
        whole = [w for w in covering if w.answer is CessationAnswer.CEASED and self._spoken_late_enough(w, opened)]
        return bool(whole) or self._attested(covering)

    def _spoken_late_enough(self, word: Word, opened: list[CallFacts]) -> bool:
        if word.basis is CessationBasis.OPERATOR:
            # A person's word names nodes; one that names none answers for a whole cluster (`agent gone`).
            return not word.nodes
        begun_at = [call.as_of for call in opened if call.as_of is not None]
        if self.alive_at is not None:
            begun_at.append(self.alive_at)
        return all(word.as_of >= at for at in begun_at)

    def _attested(self, words: list[Word]) -> bool:
        """Persons vouched for every node that was still open when the scheduler last spoke."""
        named = {
            n.node
            for w in words
            if w.basis is CessationBasis.OPERATOR and w.answer is CessationAnswer.CEASED
            for n in w.nodes
        }
        denied = [w for w in words if w.basis is not CessationBasis.OPERATOR]
        doubtful = {n.node for w in denied[-1:] for n in w.nodes if n.may_run}
        return bool(named) and named >= (doubtful or self.nodes)


@dataclass
class ObjectFacts:
    """One object. `submission` 0: no attempt of ours made it (foreign, or from a history we do not have)."""

    ref: ObjectRef
    submission: int = 0
    attempt: int = 0
    phase: Phase | None = None
    run: int = 0
    look: Look | None = None
    end: Look | None = None
    first_number: int = 0
    stale_number: int = 0
    end_final: bool = False
    missing: bool = False
    retired: bool = False
    disposition: Disposition | None = None
    verified: bool = False
    runs: dict[int, RunFacts] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.ref.id

    @property
    def foreign(self) -> bool:
        return self.submission == 0

    @property
    def counts(self) -> bool:
        return self.disposition is not Disposition.IGNORE

    @property
    def shown(self) -> bool:
        """As far as is recorded, the latest Find shows it not ended."""
        return self.phase is not None and self.phase is not Phase.ENDED and not self.missing

    def of_run(self, run: int) -> RunFacts:
        return self.runs.setdefault(run, RunFacts(run=run))

    @property
    def unproven(self) -> list[RunFacts]:
        """Begun runs that nobody has proven gone; a person's `gone` answers for all of them."""
        if self.disposition is Disposition.GONE:
            return []
        return [run for run in self.runs.values() if run.begun and not run.proven]
