"""The recovery plan: ordered rules, data only. The first rule that fits decides."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from streams.messages.values import CauseKind, Token, Value

NOT_IN_ANY = frozenset({CauseKind.COMPLETED, CauseKind.STOPPED})
ANY = "any"
PERSON = "person"
RESUBMIT_INSTEAD = "/resubmit"
RULE_HOLD = "rule-"


class PlanAction(StrEnum):
    """What a rule does about an end."""

    RESUBMIT = "resubmit"
    REQUEUE = "requeue"
    HOLD = "hold"
    GIVE_UP = "give-up"


class WhenSpent(StrEnum):
    """What becomes of a job whose rule has no budget left."""

    NEXT = "next"
    HOLD = "hold"
    GIVE_UP = "give-up"


class Backoff(Value, frozen=True, kw_only=True):
    """Wait before the n-th use: first × factor^(n-1), at most `max`; seconds."""

    first: Annotated[float, msgspec.Meta(ge=0, le=86400)] = 30.0
    factor: Annotated[float, msgspec.Meta(ge=1, le=10)] = 2.0
    max: Annotated[float, msgspec.Meta(ge=0, le=7 * 86400)] = 900.0

    def wait_s(self, uses: int) -> float:
        """Seconds to wait after `uses` uses, before the next one."""
        wait = self.first
        for _ in range(min(uses, 64)):
            wait = min(wait * self.factor, self.max)
        return min(wait, self.max)


class PlanRule(Value, frozen=True, kw_only=True):
    """`on` holds cause kinds, or `any`: all but completed and stopped."""

    name: Token
    on: tuple[str, ...]
    do: PlanAction
    exit_codes: tuple[Annotated[int, msgspec.Meta(ge=1, le=255)], ...] = ()
    budget: Annotated[int, msgspec.Meta(ge=0, le=10_000)] | None = None
    backoff: Backoff = Backoff()
    avoid_nodes: bool = False
    when_spent: WhenSpent = WhenSpent.GIVE_UP


class FastFail(Value, frozen=True, kw_only=True):
    """The same exit within `within` seconds of the start on `nodes` different nodes stops the retries."""

    within: Annotated[float, msgspec.Meta(ge=10, le=3600)] = 120.0
    nodes: Annotated[int, msgspec.Meta(ge=2, le=8)] = 2
    off: bool = False


class RecoveryPlan(Value, frozen=True, kw_only=True):
    """The rules in order, and when the same early exit on several nodes stops them."""

    rules: Annotated[tuple[PlanRule, ...], msgspec.Meta(max_length=32)] = ()
    fast_fail: FastFail = FastFail()


def hold_key(instance: str) -> str:
    """The budget key of the requeue that a `hold --now` brings with it; no command's key has this form."""
    return f"{PERSON}/hold/{instance}"


def paid_key(key: str) -> str:
    """The key under which the end was paid for: a resubmit in place of a requeue that came to nothing costs nothing."""
    return key.removesuffix(RESUBMIT_INSTEAD)


def default_plan(*, requeue_preempted: bool) -> RecoveryPlan:
    """The plan of a job that names none."""
    preempted = PlanAction.REQUEUE if requeue_preempted else PlanAction.RESUBMIT
    return RecoveryPlan(
        rules=(
            PlanRule(name="preempted", on=(CauseKind.PREEMPTED,), do=preempted, budget=100),
            PlanRule(
                name="bad-node",
                on=(CauseKind.NODE_LOST, CauseKind.LAUNCH_FAILED),
                do=PlanAction.RESUBMIT,
                budget=10,
                avoid_nodes=True,
            ),
            PlanRule(name="rest", on=(ANY,), do=PlanAction.GIVE_UP),
        )
    )
