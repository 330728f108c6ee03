"""The one receipt: what became of a command. A projection, written by any pass."""

from __future__ import annotations

from enum import StrEnum

from streams.messages.reasons import RefusalCode
from streams.messages.values import Instant, Token, Value


class Answer(StrEnum):
    """What became of the command."""

    ACCEPTED = "accepted"
    ALREADY = "already"
    REFUSED = "refused"
    MALFORMED = "malformed"


class Progress(StrEnum):
    """How far a cancel got; later values overwrite earlier ones."""

    COMMITTED = "committed"
    STOPPED = "stopped"
    COMPLETE = "complete"


class Receipt(Value, frozen=True, kw_only=True):
    """`command` is `seq-<n>`, the command's stream sequence, when the bytes hold no valid id."""

    command: str
    tenant: Token
    job: str
    verb: str
    answer: Answer
    revision: int | None = None
    number: int | None = None
    progress: Progress | None = None
    code: RefusalCode | None = None
    sentence: str = ""
    at: Instant
    by: str


TAKEN = (Answer.ACCEPTED, Answer.ALREADY)
_ORDER = (None, *Progress)


def supersedes(new: Receipt, held: Receipt) -> bool:
    """Whether `new` may take the place of `held`: what became an event is never refused later, and progress never falls.

    A late writer so changes nothing. Of another command under the same id, or of another event, it may.
    """
    if (new.job, new.verb) != (held.job, held.verb):
        return True
    if new.answer not in TAKEN:
        return held.answer not in TAKEN
    return new.revision != held.revision or _ORDER.index(new.progress) >= _ORDER.index(held.progress)
