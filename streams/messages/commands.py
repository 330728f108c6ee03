"""The eight commands a service or person publishes. Imperative, one struct each."""

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
    """What a cancel of a name never seen becomes: a refusal, or a record that refuses a later submit."""

    REFUSE = "refuse"
    RECORD = "record"


class Retries(StrEnum):
    """Whether a plan rule may authorize a retry."""

    ON = "on"
    OFF = "off"


class BrakeOrder(StrEnum):
    """What a person may ask of the brake."""

    CLEAR = "clear"


class SubmitJob(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="submit"):
    """Run this job once. The same name with the same spec is the same submit; with another it is refused."""

    spec: JobSpec
    plan: RecoveryPlan | None = None


class CancelJob(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="cancel"):
    """End the job for good: nothing of it is authorized any more (L2)."""

    if_unknown: IfUnknown = IfUnknown.REFUSE


class HoldJob(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="hold"):
    """No further run starts until the hold is lifted; with `now`, the run in progress ends too."""

    instance: Token | None = None
    now: bool = False


class ReleaseJob(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="release"):
    """Lift these hold instances; none named: every hold that a person asked for."""

    instances: tuple[Token, ...] = ()


class RequeueJob(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="requeue"):
    """Run again on a person's order: the same object, or with `resubmit` a new submission. No budget is used."""

    run: int
    resubmit: bool = False


class Dispose(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="dispose"):
    """A person's decision about what dispatch may not decide by itself."""

    target: Target
    disposition: Disposition


class AttestNodeOff(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="attest"):
    """A person's word that nothing of that run is left on the node. Kept apart from what was observed."""

    node: str
    state: NodeAttested
    object: ObjectRef
    run: int


class SetControls(CommandBase, frozen=True, kw_only=True, tag_field="verb", tag="control"):
    """Stop or allow retries, lift the brake, or only observe. Binds retries alone."""

    cluster: Token | None = None
    retries: Retries | None = None
    brake: BrakeOrder | None = None
    observe: bool | None = None


Command = SubmitJob | CancelJob | HoldJob | ReleaseJob | RequeueJob | Dispose | AttestNodeOff | SetControls
VERBS = ("submit", "cancel", "hold", "release", "requeue", "dispose", "attest", "control")
