"""The data of each `--json` document, and the lines of each stream, as types from which their JSON Schemas are made.

Most views have a type of their own, which stands here by its name. What a command puts together itself is written
down here; that each is told truly is tested with real documents. Keys are only added within a schema number.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from dispatch.cli.fleet import ClusterSeen
from dispatch.cli.looking import Beat
from dispatch.doctor import Finding
from dispatch.exporting import Manifest
from dispatch.why import Why
from projections.controls import Control
from projections.fleet import FleetEntry
from projections.status import Status
from projections.verify import Verdict
from streams.jetstream.generation import RestoreReport
from streams.jetstream.setup import SetupReport
from streams.messages.plan import RecoveryPlan
from streams.messages.receipts import Receipt
from streams.messages.spec import JobSpec
from streams.messages.values import CauseKind, Instant

# A key that is left out where it has nothing to say; every other key is always there.
SOMETIMES = "x-sometimes"
_sometimes = msgspec.Meta(extra_json_schema={SOMETIMES: True})


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """The data of one document."""


class Event(Data, frozen=True, kw_only=True):
    """One event; `stored` with `--full`, `job` in a stream."""

    job: Annotated[str, _sometimes]
    number: int
    revision: int
    at: Instant
    kind: str
    who: str
    sentence: str
    code: str
    id: str | None
    stored: Annotated[dict[str, Any], _sometimes]


class History(Data, frozen=True, kw_only=True):
    """The events of one job that were asked for."""

    job: str
    events: tuple[Event, ...]


class Listing(Data, frozen=True, kw_only=True):
    """Jobs as the status bucket has them; `waiting`: commands that no supervisor took yet."""

    jobs: tuple[FleetEntry, ...]
    total: int
    needs_person: int
    waiting: int | None


class Fleet(Data, frozen=True, kw_only=True):
    """Clusters, replicas and counts of a tenant."""

    open: int
    needs_person: tuple[str, ...]
    clusters: tuple[ClusterSeen, ...]
    replicas: tuple[Beat, ...] | None
    silent_replicas: tuple[Beat, ...]
    waiting: int | None
    unattended: int
    complete_to: int | None


class RankLines(Data, frozen=True, kw_only=True):
    """What one rank wrote; `source`: the copy that was read."""

    rank: int
    node: str
    source: str | None
    written_at: Instant | None
    lines: tuple[str, ...]


class Logs(Data, frozen=True, kw_only=True):
    """What the ranks of one execution wrote."""

    job: str
    execution: str
    epoch: int
    ended_at: Instant | None
    cause: CauseKind | None
    ranks: tuple[RankLines, ...]


class Verdicts(Data, frozen=True, kw_only=True):
    """The laws of each job's history."""

    jobs: tuple[Verdict, ...]


class WaitingRetry(Data, frozen=True, kw_only=True):
    """A job whose retry waits."""

    job: str
    cluster: str


class Retries(Data, frozen=True, kw_only=True):
    """What stands against retries, and which wait for it."""

    controls: tuple[Control, ...]
    number: int
    waiting: tuple[WaitingRetry, ...]


class WouldBe(Data, frozen=True, kw_only=True):
    """What the decision would be, of a command that was not sent."""

    job: Annotated[str, _sometimes]
    cluster: Annotated[str | None, _sometimes]
    answer: Literal["accepted", "already", "refused"]
    event: str | None
    number: int | None
    code: str | None
    sentence: str | None


class Plan(Data, frozen=True, kw_only=True):
    """What a submit would ask for, and what the decision would be."""

    job: str
    spec: JobSpec
    plan: RecoveryPlan
    warnings: tuple[str, ...]
    verdict: WouldBe


class Sent(Data, frozen=True, kw_only=True):
    """What became of a command: its receipt, or its id and its place on the bus to wait for."""

    job: str
    outcome: str
    receipt: Annotated[Receipt, _sometimes]
    command: Annotated[str, _sometimes]
    sequence: Annotated[int, _sometimes]


class Results(Data, frozen=True, kw_only=True):
    """Of several jobs: for each what it would be of one."""

    results: tuple[dict[str, Any], ...]


class Exported(Data, frozen=True, kw_only=True):
    """Where an export was written, and what it holds."""

    file: str
    manifest: Manifest


class Findings(Data, frozen=True, kw_only=True):
    """What `doctor` found."""

    findings: tuple[Finding, ...]


class Fix(Data, frozen=True, kw_only=True):
    """The settings that a server needs, as its config file has them."""

    nats_server: str


class Permissions(Data, frozen=True, kw_only=True):
    """NATS permissions of a role, as the server's config file has them."""

    role: str
    tenant: str
    permissions: str


class Script(Data, frozen=True, kw_only=True):
    """The completion script of a shell."""

    shell: str
    script: str


class NamedContext(Data, frozen=True, kw_only=True):
    """A context of the config file."""

    name: str
    current: bool
    bus: tuple[str, ...]


class CurrentContext(Data, frozen=True, kw_only=True):
    """The context that was made the current one."""

    current: str | None


class Setting(Data, frozen=True, kw_only=True):
    """One setting and the place it came from."""

    value: str | None
    source: str | None


class Version(Data, frozen=True, kw_only=True):
    """This tool, and what runs on the bus."""

    dispatch: str
    schema: int
    replicas: dict[str, str]
    agents: dict[str, str | None]
    bus: str | None


class Error(Data, frozen=True, kw_only=True):
    """What happened, why and what to do; of a command that was sent also what became of it."""

    code: str
    exit: int
    what: str
    why: tuple[str, ...]
    do: tuple[str, ...]
    job: Annotated[str, _sometimes]
    outcome: Annotated[str, _sometimes]
    receipt: Annotated[Receipt, _sometimes]
    command: Annotated[str, _sometimes]
    sequence: Annotated[int, _sometimes]


class OutputLine(Data, frozen=True, kw_only=True):
    """One line that a rank wrote; `revision`: up to where the job's history was read by then."""

    kind: Literal["line"]
    rank: int
    node: str
    text: str
    revision: int


class End(Data, frozen=True, kw_only=True):
    """The last line of a stream; one without it was cut."""

    job: Annotated[str, _sometimes]
    kind: Literal["end"]
    because: str
    revision: int


SENT = (Sent, Results)

# view -> what its data may be. Of a `cancel` that was waited for it is the job's status.
DOCUMENTS: dict[str, tuple[Any, ...]] = {
    "status": (Status,),
    "fleet": (Fleet,),
    "why": (Why,),
    "history": (History,),
    "list": (Listing,),
    "logs": (Logs,),
    "submit": SENT,
    "submit-plan": (Plan,),
    "dry-run": (WouldBe, Results),
    "cancel": (Sent, Status, Results),
    "hold": SENT,
    "release": SENT,
    "requeue": SENT,
    "dispose": SENT,
    "attest": SENT,
    "retries": (Retries, Sent, Results),
    "verify": (Verdicts,),
    "export": (Exported,),
    "doctor": (Findings,),
    "doctor-fix": (Fix,),
    "setup": (SetupReport,),
    "setup-restore": (RestoreReport,),
    "setup-permissions": (Permissions,),
    "context-list": (tuple[NamedContext, ...],),
    "context-show": (dict[str, Setting],),
    "context-use": (CurrentContext,),
    "completion": (Script,),
    "version": (Version,),
    "schemas": (dict[str, dict[str, Any]],),
}
# stream -> what one of its lines may be
STREAMS: dict[str, tuple[Any, ...]] = {"events": (Event, End), "output": (OutputLine, End)}
