"""The eight commands a service or person publishes (MESSAGES 3). Imperative, one struct each."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from streams.messages.plan import RecoveryPlan
from streams.messages.spec import JobSpec
from streams.messages.values import Disposition, Instant, NodeAttested, Note, ObjectRef, Target, Token


class CommandBase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Fields of every command. `tenant` and `job` must equal the subject's."""

    command: Token
    tenant: Token
    job: str
    at: Instant
    on_behalf_of: str = ""
    note: Note = ""


class IfUnknown(StrEnum):
    REFUSE = "refuse"
    RECORD = "record"


class Retries(StrEnum):
    ON = "on"
    OFF = "off"


class BrakeOrder(StrEnum):
    CLEAR = "clear"


class SubmitJob(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="submit"):
    spec: JobSpec
    plan: RecoveryPlan | None = None


class CancelJob(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="cancel"):
    if_unknown: IfUnknown = IfUnknown.REFUSE


class HoldJob(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="hold"):
    instance: Token | None = None
    now: bool = False


class ReleaseJob(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="release"):
    instances: tuple[Token, ...] = ()


class RequeueJob(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="requeue"):
    run: int
    resubmit: bool = False


class Dispose(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="dispose"):
    target: Target
    disposition: Disposition


class AttestNodeOff(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="attest"):
    node: str
    state: NodeAttested
    object: ObjectRef
    run: int


class SetControls(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="control"):
    cluster: Token | None = None
    retries: Retries | None = None
    brake: BrakeOrder | None = None
    observe: bool | None = None


Command = SubmitJob | CancelJob | HoldJob | ReleaseJob | RequeueJob | Dispose | AttestNodeOff | SetControls
VERBS = ("submit", "cancel", "hold", "release", "requeue", "dispose", "attest", "control")
