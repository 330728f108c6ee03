"""What a decision on a command can be, and what it may look at besides the record."""

from __future__ import annotations

from typing import NamedTuple

from projections.controls import Controls
from streams.messages.calls import Capabilities
from streams.messages.events import Event
from streams.messages.reasons import Reason, RefusalCode
from streams.messages.values import Found, Instant, Value


class Decided(NamedTuple):
    """Append this event at the revision decided from. `reason` None: it is evidence (a person's word)."""

    event: Event
    reason: Reason | None


class Refused(NamedTuple):
    """Nothing changes. `sentence` says what to do; `revision` is of the event that stands in the way."""

    code: RefusalCode
    sentence: str
    revision: int | None = None


class Already(NamedTuple):
    """The command, or one that asks the same, became this event earlier."""

    revision: int
    number: int


Answered = Decided | Refused | Already


class Facts(Value, frozen=True, kw_only=True):
    """`capabilities` None: the job's cluster is not known. `found` None: it was not, or could not be, asked."""

    now: Instant
    controls: Controls = Controls()
    capabilities: Capabilities | None = None
    found: Found | None = None
    actor: str = ""
