"""L15: a history is readable for ever; where it is not, decisions for that job stop.

Judged: no decision follows a message that nobody can read until a person has disposed of that message, and none
follows a type or version that this release does not know. A later release may know it: a history that goes on
behind it must be verified by the release that wrote it, and no other law is judged from there on.
"""

from __future__ import annotations

from collections.abc import Iterator

from projections.verify.facts import Facts, Stored
from streams.messages.events import Decision, TargetDisposed
from streams.messages.values import MessageRef

LAW = "L15"


def check(facts: Facts, stored: Stored) -> Iterator[str]:
    """Whether this event decides over what could not be read."""
    event = stored.envelope.event
    if not isinstance(event, Decision) or not facts.unread:
        return
    if isinstance(event, TargetDisposed) and isinstance(event.target, MessageRef):
        return
    revision, what = next(iter(facts.unread.items()))
    yield f"{type(event).__name__} was decided behind r{revision}, {what}"
