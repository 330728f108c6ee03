"""Values that commands, events and calls are made of. No rule, no bytes, no clock.

Constructors do not validate; bytes are checked in `streams.codec` and nowhere else.
Every struct is frozen and compared by value.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec

TOKEN_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z"
RUNS_PER_SUBMISSION = 1_000_000

Token = Annotated[str, msgspec.Meta(pattern=TOKEN_PATTERN)]
EventId = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-z]{26}\Z")]
Instant = Annotated[datetime, msgspec.Meta(tz=True)]
Note = Annotated[str, msgspec.Meta(max_length=500)]


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Base of all values: frozen, keyword only, defaults left off the wire."""


class CauseKind(StrEnum):
    """Why a run ended."""

    COMPLETED = "completed"
    EXIT_CODE = "exit-code"
    SIGNAL = "signal"
    OUT_OF_MEMORY = "out-of-memory"
    TIME_LIMIT = "time-limit"
    PREEMPTED = "preempted"
    NODE_LOST = "node-lost"
    LAUNCH_FAILED = "launch-failed"
    NEVER_STARTED = "never-started"
    STOPPED = "stopped"
    STOPPED_OUTSIDE = "stopped-outside"
    UNKNOWN = "unknown"


class Phase(StrEnum):
    """What a scheduler shows of one object."""

    GATED = "gated"
    QUEUED = "queued"
    RUNNING = "running"
    ENDING = "ending"
    ENDED = "ended"
    UNCLEAR = "unclear"


class HoldSeen(StrEnum):
    """Which hold a scheduler shows on an object, apart from the gate (R20)."""

    NONE = "none"
    USER = "user"
    ADMIN = "admin"
    LAUNCH_FAILED = "launch-failed"
    SYSTEM = "system"


class Verb(StrEnum):
    """What a committed call asks of a scheduler. `start` is an attempt's own."""

    START = "start"
    OPEN = "open"
    ADMIT = "admit"
    HOLD = "hold"
    RELEASE = "release"
    REQUEUE = "requeue"
    STOP = "stop"
    STOP_JOB = "stop-job"


class ReplyOutcome(StrEnum):
    """The three outcomes of a call."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class CessationAnswer(StrEnum):
    """Whether processes of a run may still live; what is not known counts as `may-run`."""

    CEASED = "ceased"
    MAY_RUN = "may-run"


class CessationBasis(StrEnum):
    """On what that answer rests: seen, presumed by the cluster's policy, or a person's word."""

    OBSERVED = "observed"
    PRESUMED = "presumed"
    OPERATOR = "operator"


class Disposition(StrEnum):
    """What a person decides about a target."""

    ADOPT = "adopt"
    IGNORE = "ignore"
    STOP = "stop"
    GONE = "gone"


class HoldKind(StrEnum):
    """Who asked for a hold: a person or a plan rule."""

    PERSON = "person"
    RULE = "rule"


class Outcome(StrEnum):
    """How a job that nobody cancelled ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"


class StopBasis(StrEnum):
    """On what a verified stop rests."""

    STOP_DONE_AND_ABSENT = "stop-done-and-absent"
    PROCESSES_GONE = "processes-gone"


class NodeAttested(StrEnum):
    """What a person says of a node."""

    OFF = "off"
    REBOOTED = "rebooted"


class ObjectRef(Value, frozen=True, kw_only=True, tag_field="target", tag="object"):
    """One object on one scheduler. `created` survives a requeue; `id` alone proves nothing (R10)."""

    cluster: Token
    id: str
    created: str


class AttemptRef(Value, frozen=True, kw_only=True, tag_field="target", tag="attempt"):
    """One Start of one submission."""

    submission: int
    attempt: int


class MessageRef(Value, frozen=True, kw_only=True, tag_field="target", tag="message"):
    """One stored message of the job, by its revision."""

    revision: int


Target = ObjectRef | AttemptRef | MessageRef


class Tag(Value, frozen=True, kw_only=True):
    """What every object we create carries. `nonce` is the id of the event at `revision` (L14)."""

    installation: Token
    tenant: Token
    job: Token
    submission: int
    attempt: int
    revision: int
    nonce: str


class Cause(Value, frozen=True, kw_only=True):
    """Why a run ended. `final` is false until accounting has answered; refined at most once (R18)."""

    kind: CauseKind
    exit_code: int | None = None
    signal: int | None = None
    rank: int | None = None
    nodes: tuple[str, ...] = ()
    final: bool = True
    raw: dict[str, str] = {}


class Sighting(Value, frozen=True, kw_only=True):
    """One object as one complete Find showed it."""

    object: ObjectRef
    tag: Tag | None = None
    run: int = 0
    phase: Phase
    hold: HoldSeen = HoldSeen.NONE
    cause: Cause | None = None
    end_final: bool = False
    ranks_done: int = 0
    nodes: tuple[str, ...] = ()


class NodeState(Value, frozen=True, kw_only=True):
    """One node of a run: what the scheduler says of it, and what may still run there."""

    node: str
    state: str = ""
    may_run: tuple[str, ...] = ()


class Floor(Value, frozen=True, kw_only=True):
    """The newest (revision, event id) an agent was called with for a job (L14)."""

    revision: int
    nonce: str


class Found(Value, frozen=True, kw_only=True):
    """The answer of one complete Find. Never stored.

    `as_of` is the scheduler host's clock, read before the query; it never goes back.
    `detail` pairs an object with pending reasons or remaining pods: shown in status, never appended.
    """

    as_of: Instant
    floor: Floor | None = None
    sightings: tuple[Sighting, ...] = ()
    detail: tuple[tuple[ObjectRef, str], ...] = ()


def epoch_of(submission: int, run: int) -> int:
    """The execution's number that only grows."""
    return submission * RUNS_PER_SUBMISSION + run
