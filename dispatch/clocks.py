"""How far another clock is from this process's, as far as one question and its answer can tell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import msgspec

from dispatch.findings import Finding, ok, warn

OFFSET_MAX_S = 1.0


class Offset(msgspec.Struct, frozen=True, kw_only=True):
    """`ahead_s` of this process's clock (behind: below zero); the truth is at most `within_s` from it. Seconds."""

    ahead_s: float
    within_s: float

    @property
    def at_most_s(self) -> float:
        """No clock of this offset is further away."""
        return abs(self.ahead_s) + self.within_s

    @property
    def at_least_s(self) -> float:
        """Nor is one nearer: what the way of the question and the answer cannot explain."""
        return max(0.0, abs(self.ahead_s) - self.within_s)


async def asked(tell: Callable[[], Awaitable[datetime]]) -> Offset:
    """The offset of the clock that `tell` reads somewhere else. Raises what `tell` raises."""
    sent_at = datetime.now(UTC)
    told_at = await tell()
    return offset(sent_at, told_at, datetime.now(UTC))


def offset(sent_at: datetime, told_at: datetime, back_at: datetime) -> Offset:
    """The other clock was read some time between the question (`sent_at`) and the answer (`back_at`)."""
    half = (back_at - sent_at) / 2
    return Offset(ahead_s=(told_at - (sent_at + half)).total_seconds(), within_s=abs(half.total_seconds()))


def finding(part: str, whose: str, seen: Offset, do: str) -> Finding:
    """What a person is told of it; a warning with `do` when the clocks are surely too far apart."""
    if seen.at_least_s > OFFSET_MAX_S:
        way = "ahead of" if seen.ahead_s > 0 else "behind"
        return warn(part, f"{whose} clock is {abs(seen.ahead_s):.1f}s {way} this process's", do)
    return ok(part, f"{whose} clock is within {seen.at_most_s * 1000:.0f} ms of this process's")
