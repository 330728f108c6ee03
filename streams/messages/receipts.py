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
