"""What a person or a program is told of one job: the document of `dispatch status --json`.

Keys are only ever added, never change their type; an absent value is null, an empty list is a list. Times inside
sentences are RFC 3339 in UTC (`words.stamp`), so that a screen can put them in its own zone.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from streams.messages.values import Instant


class State(StrEnum):
    """The one state that a prefix of a history has."""

    ACCEPTED = "accepted"
    LAUNCHING = "launching"
    QUEUED = "queued"
    RUNNING = "running"
    RECOVERING = "recovering"
    HELD = "held"
    ENDING = "ending"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


SETTLED = (State.SUCCEEDED, State.FAILED, State.CANCELLED)


class Alert(StrEnum):
    """What stands beside the state; one that ends in `!` needs a person."""

    STUCK = "stuck!"
    FOREIGN = "foreign!"
    UNAUTHORIZED_RUN = "unauthorized-run!"
    REGRESSED = "regressed!"
    QUARANTINED = "quarantined!"
    BRAKE = "brake!"
    UNATTENDED = "unattended"
    UNREACHABLE = "unreachable"

    @property
    def needs_person(self) -> bool:
        return self.value.endswith("!")


class Nature(StrEnum):
    """How a wait ends."""

    BY_ITSELF = "by-itself"
    WHEN_OTHERS_END = "when-others-end"
    NEEDS_A_PERSON = "needs-a-person"
    WILL_NOT_END = "will-not-end-as-it-is"

    @property
    def needs_person(self) -> bool:
        """Whether nothing will come of it unless somebody acts."""
        return self in (Nature.NEEDS_A_PERSON, Nature.WILL_NOT_END)


class View(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Base of what is told: every key is there, whatever its value."""


class Can(View, frozen=True, kw_only=True):
    """A line to paste, what it does, and its risk ("" where it has none)."""

    command: str
    effect: str
    risk: str = ""


class Wait(View, frozen=True, kw_only=True):
    """One wait in its five parts: for what, since when, because of which facts, what ends it, what you can do."""

    what: str = msgspec.field(name="for")
    nature: Nature
    since: Instant | None = None
    because: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    can: tuple[Can, ...] = ()
    law: str | None = None


class AsOf(View, frozen=True, kw_only=True):
    """How new all this is: the last event folded, when it was read, and when the scheduler was last heard."""

    number: int
    revision: int
    read_at: Instant
    cluster_read_at: Instant | None


class AttemptView(View, frozen=True, kw_only=True):
    """One Start. `reply` None: no answer yet; `given-up` once a person or a rule gave it up."""

    n: int
    reply: str | None
    object: str | None


class SubmissionView(View, frozen=True, kw_only=True):
    """One submission: by which rule, paid for by which key, its Starts and the object chosen."""

    n: int
    rule: str
    budget_key: str
    attempts: tuple[AttemptView, ...]
    canonical: str | None


class ObjectView(View, frozen=True, kw_only=True):
    """`role`: canonical, candidate, retired, foreign, ignored or adopted-to-be. `state`: its phase, or what is known."""

    id: str
    uid: str
    role: str
    state: str
    since: Instant | None
    cause: str | None


class ExecutionView(View, frozen=True, kw_only=True):
    """One run that began or may have. `id` is `N.R`; `processes` says what is known of them."""

    id: str
    epoch: int
    object: str
    nodes: tuple[str, ...]
    started_at: Instant | None
    ended_at: Instant | None
    cause: str | None
    raw: dict[str, str]
    processes: str


class BudgetView(View, frozen=True, kw_only=True):
    """How often a rule was used, of how often it may be, and the pause before its next use."""

    rule: str
    used: int
    of: int
    next_wait_s: float


class HoldView(View, frozen=True, kw_only=True):
    """`kind`: person, rule, admin, launch-failed or system. `instance` None: placed at the scheduler, not through us."""

    kind: str
    instance: str | None
    by: str
    reason: str
    since: Instant | None
    on_object: bool


class CallView(View, frozen=True, kw_only=True):
    """A call that may still land. `outcome` None: no answer yet."""

    kind: str
    sent_at: Instant
    deadline_at: Instant
    over_at: Instant
    outcome: str | None


class StageView(View, frozen=True, kw_only=True):
    """One stage that a cancel reached: by which event, when."""

    number: int
    at: Instant


class CancelView(View, frozen=True, kw_only=True):
    """How far a cancel got. `blocked_by`: what keeps it from being complete, a phrase each."""

    asked_at: Instant
    committed: StageView
    stopped: StageView | None
    complete: StageView | None
    blocked_by: tuple[str, ...]


class OutcomeView(View, frozen=True, kw_only=True):
    """`outcome`: succeeded, failed or cancelled."""

    outcome: str
    cause: str | None
    rule: str
    submission: int | None
    at: Instant


class ClauseView(View, frozen=True, kw_only=True):
    """One condition of settlement, and the things it waits for."""

    name: str
    holds: bool
    waits_for: tuple[str, ...]


class SettledView(View, frozen=True, kw_only=True):
    """Whether the job is settled, and every condition of that."""

    holds: bool
    clauses: tuple[ClauseView, ...]


class Status(View, frozen=True, kw_only=True):
    """Everything that is told of one job."""

    job: str
    state: State
    alerts: tuple[Alert, ...]
    needs_person: bool
    as_of: AsOf
    waits: tuple[Wait, ...]
    wanted: str
    submissions: tuple[SubmissionView, ...]
    objects: tuple[ObjectView, ...]
    executions: tuple[ExecutionView, ...]
    budgets: tuple[BudgetView, ...]
    holds: tuple[HoldView, ...]
    gate: str
    calls: tuple[CallView, ...]
    avoids: tuple[str, ...]
    cancel: CancelView | None
    outcome: OutcomeView | None
    settled: SettledView


def document(view: View) -> dict[str, Any]:
    """The view as JSON values: times RFC 3339 in UTC with milliseconds, every key there."""
    plain = msgspec.to_builtins(view, builtin_types=(datetime,))
    held = _plain(plain)
    assert isinstance(held, dict)
    return held


def _plain(value: Any) -> Any:  # noqa: ANN401  JSON values of any shape pass through
    match value:
        case datetime():
            value = value.astimezone(UTC)
            return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03d}Z"
        case dict():
            return {key: _plain(held) for key, held in value.items()}
        case list() | tuple():
            return [_plain(held) for held in value]
        case _:
            return value
