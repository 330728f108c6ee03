"""What one pass decides from: the record as read, the Find begun after that read, and the time. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from projections.controls import Controls
from projections.record import ALIVE, ObjectRecord, Record, SubmissionRecord
from streams.messages.calls import Capabilities
from streams.messages.events import AttemptCommitted, CallCommitted, Event
from streams.messages.reasons import Reason
from streams.messages.spec import JobSpec
from streams.messages.values import Found, Instant, ObjectRef, Phase, Sighting, Value


class Step(Value, frozen=True, kw_only=True):
    """One event to append. An `AttemptCommitted` or `CallCommitted` is followed by its call, once accepted."""

    event: Event
    reason: Reason

    @property
    def is_call(self) -> bool:
        return isinstance(self.event, AttemptCommitted | CallCommitted)


@dataclass(frozen=True)
class Situation:
    """`record` includes what this pass itself appended; nobody else's event lies between its read and now.

    `asked_at` and `now` are this process's clock: their difference only stretches deadlines (L10).
    `installation` tells our own tags from another installation's.
    """

    record: Record
    found: Found
    capabilities: Capabilities
    controls: Controls
    installation: str
    asked_at: Instant
    now: Instant

    @cached_property
    def shown(self) -> dict[ObjectRef, Sighting]:
        """What the Find of this very pass shows."""
        return {s.object: s for s in self.found.sightings}

    @property
    def as_of(self) -> datetime:
        return self.found.as_of

    @property
    def host_now(self) -> datetime:
        """The scheduler host's time as far as this process can tell: the Find's plus what has passed since."""
        return self.found.as_of + max(self.now - self.asked_at, timedelta(0))

    @cached_property
    def spec(self) -> JobSpec:
        spec = self.record.spec
        if spec is None:
            raise ValueError(f"{self.record.job} was never submitted")
        return spec

    @cached_property
    def newest(self) -> SubmissionRecord | None:
        return self.record.newest

    @cached_property
    def canonical(self) -> ObjectRecord | None:
        """The canonical object of the newest submission."""
        return self.record.canonical()

    def alive(self, ref: ObjectRef) -> bool:
        """Shown by this Find, and not ended."""
        seen = self.shown.get(ref)
        return seen is not None and seen.phase in ALIVE

    def phase(self, ref: ObjectRef) -> Phase | None:
        seen = self.shown.get(ref)
        return seen.phase if seen else None

    def ended(self, held: ObjectRecord) -> bool:
        """Ended by this Find, or, where it does not show the object, by what is recorded (L9)."""
        seen = self.shown.get(held.ref)
        if seen is None:
            return held.accounted
        return seen.phase is Phase.ENDED and held.ended

    def gone(self, held: ObjectRecord) -> bool:
        """Ended, and no process of any of its runs may be alive (L4)."""
        return self.ended(held) and not held.unproven
