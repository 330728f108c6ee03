"""Calls to a scheduler, what a scheduler can do, and what it says of processes.

A call carries everything its host needs: the committed deadline (L10), the pair of its intent (L14) and the
identity of what it acts on. Adapters serve these; `streams` only names them, so that they can cross the bus.
"""

from __future__ import annotations

import msgspec

from streams.messages.spec import JobSpec
from streams.messages.values import (
    CessationAnswer,
    CessationBasis,
    Floor,
    Instant,
    NodeState,
    ObjectRef,
    Phase,
    Tag,
    Token,
    Value,
)


class JobName(Value, frozen=True, kw_only=True):
    """Which job, of which installation: what `find` and `stop_job` go by."""

    installation: Token
    tenant: Token
    job: Token


class CallBase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="verb"):
    """`pair` is (revision, event id) of the event that authorized this call."""

    name: JobName
    call: int
    deadline_at: Instant
    pair: Floor


class StartCall(CallBase, frozen=True, kw_only=True, tag="start"):
    """Create one object, gated. `tag` goes onto it whole."""

    tag: Tag
    spec: JobSpec
    avoid_nodes: tuple[str, ...] = ()


class OpenCall(CallBase, frozen=True, kw_only=True, tag="open"):
    """Lift the gate of one object so that `run` may begin."""

    object: ObjectRef
    run: int
    submission: int


class StopCall(CallBase, frozen=True, kw_only=True, tag="stop"):
    """End this one object for good."""

    object: ObjectRef


class StopJobCall(CallBase, frozen=True, kw_only=True, tag="stop-job"):
    """Stop everything that bears the job's name, except the objects named."""

    spare: tuple[ObjectRef, ...] = ()


class HoldCall(CallBase, frozen=True, kw_only=True, tag="hold"):
    """Keep the object from any further run, for these hold instances."""

    object: ObjectRef
    instances: tuple[Token, ...]


class ReleaseCall(CallBase, frozen=True, kw_only=True, tag="release"):
    """Take these hold instances off the object; `run` is the one it begins where a release begins one."""

    object: ObjectRef
    instances: tuple[Token, ...]
    run: int | None = None


class RequeueCall(CallBase, frozen=True, kw_only=True, tag="requeue"):
    """End `run` of the object, if it is still on, and return the object to its gate."""

    object: ObjectRef
    run: int


Call = StartCall | OpenCall | StopCall | StopJobCall | HoldCall | ReleaseCall | RequeueCall


class Capabilities(Value, frozen=True, kw_only=True):
    """What one cluster can do. Seconds end in `_s`.

    `first_run`: number of an object's first run (0 on Slurm and local; 1 on Kubernetes, where A is raised by
    the write that admits). `gate_is_hold`: gate and hold are one bit. `requeue_of`: phases a requeue works on.
    `ended_runs_again`: an ended object can run again by itself until it is stopped (Kubernetes).
    `queues_gated`: an object may wait in a queue with its gate shut (Kueue, for quota).
    `fenced_calls`: a call cannot land on a later execution than the one it names. `limit_min_s`: the shortest
    `time_limit` and `start_within` that it keeps, `warning_min_s` the shortest notice before a limit: schedulers count
    in minutes, processes of this machine in seconds. `read_only`: it is looked at and never
    called; `takes_stops`: but for stops, since it is gone and nothing of it is left to stop. `version`: of the agent
    that answers, "" where none does.
    """

    kind: str
    call_bound_s: float
    start_deadline_s: float = 60.0
    call_deadline_s: float = 30.0
    find_every_s: float = 30.0
    first_run: int = 0
    gate_is_hold: bool = False
    queues_gated: bool = False
    holds: bool = True
    hold_ends_run: bool = False
    release_begins_run: bool = False
    requeue_of: tuple[Phase, ...] = ()
    fenced_calls: bool = False
    ended_runs_again: bool = False
    cessation: bool = True
    presume_after_s: float | None = None
    accounting: bool = True
    watch: bool = False
    logs: bool = False
    inspect: bool = False
    read_only: bool = False
    takes_stops: bool = False
    limit_min_s: int = 60
    warning_min_s: int = 10
    version: str = ""


class Cessation(Value, frozen=True, kw_only=True):
    """The adapter's word on the processes of one run. Unknown is `may-run`.

    An operator's word names its person; one without `nodes` answers for all of them.
    """

    answer: CessationAnswer
    basis: CessationBasis
    as_of: Instant
    nodes: tuple[NodeState, ...] = ()
    attested_by: str | None = None


class Inspection(Value, frozen=True, kw_only=True):
    """Shown, never appended: why an object waits, its place in the queue, the scheduler's guess."""

    pending_reason: str = ""
    position: int | None = None
    estimated_start_at: Instant | None = None
    detail: dict[str, str] = {}


class Output(Value, frozen=True, kw_only=True):
    """Bytes of what one rank wrote, and the offset of what follows them.

    `source`: the copy that was read, as its job file names it or where it lies on the cluster's machine. `written_at`:
    when it was last written to, by that machine's clock; None before the first byte.
    """

    data: bytes = b""
    next: int = 0
    source: str = ""
    written_at: Instant | None = None
