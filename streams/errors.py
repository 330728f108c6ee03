"""What can go wrong on the bus. The class says whether anything may have been stored.

StreamError
├── ConflictError          not stored and never will be: the subject moved on
├── RegressionError        not stored: the subject's last revision is below the one expected (L14)
├── UndecidedError         may be stored now or later: look for the event id before trying again
├── BusUnreachableError    nothing was sent
│   └── BusClosedError     and this connection does not come back: a new one is needed
├── NotPermittedError      nothing was stored: the credentials lack the right
├── WrongStreamError       nothing was stored: another generation of the history is current
├── StreamFullError        nothing was stored and waiting will not help: a limit or the disk
│   └── TooLargeError      and it is this one message that is above a limit: others are stored
└── SettingsError          a stream, bucket, consumer or server is not set as it must be
CodecError                 bytes that are no message of ours
"""

from __future__ import annotations

from streams.messages.reasons import RefusalCode


class StreamError(Exception):
    """Base of everything the bus can answer."""


class ConflictError(StreamError):
    """Another event stands where this one was to go; read the tail and decide again."""

    def __init__(self, subject: str, expected: int, current: int | None) -> None:
        super().__init__(f"{subject}: expected last revision {expected}, found {current}")
        self.subject = subject
        self.expected = expected
        self.current = current


class RegressionError(StreamError):
    """The history is behind what this writer has already folded: it went backwards."""

    def __init__(self, subject: str, expected: int, current: int) -> None:
        super().__init__(f"{subject}: history ends at r{current}, but r{expected} was read from it")
        self.subject = subject
        self.expected = expected
        self.current = current


class UndecidedError(StreamError):
    """No answer in time. The event may be stored, now or later; nothing may be sent on its strength."""

    def __init__(self, subject: str, event_id: str) -> None:
        super().__init__(f"{subject}: no answer for event {event_id}; it may be stored")
        self.subject = subject
        self.event_id = event_id


class BusUnreachableError(StreamError):
    """The bus could not be reached; nothing was sent."""


class BusClosedError(BusUnreachableError):
    """The connection was closed for good, such as for credentials that ended; only a new one can help."""


class NotPermittedError(StreamError):
    """The credentials do not allow this; on the bus it looks like a time-out."""


class WrongStreamError(StreamError):
    """This history was replaced by a newer generation; this writer must start again."""


class StreamFullError(StreamError):
    """A stream limit or the disk is reached; nothing was stored."""


class TooLargeError(StreamFullError):
    """This one message is larger than the bus takes; nothing was sent or stored, and it never will be."""


class SettingsError(StreamError):
    """A setting differs from what safety needs. `differences` holds one sentence each."""

    def __init__(self, differences: tuple[str, ...]) -> None:
        super().__init__("; ".join(differences))
        self.differences = differences


class CodecError(ValueError):
    """Bytes that hold no message of ours. The text is one sentence for the sender.

    `code` and `command` are for the receipt; `command` is None when the bytes hold no valid id.
    """

    def __init__(self, sentence: str, *, code: RefusalCode = RefusalCode.MALFORMED, command: str | None = None) -> None:
        super().__init__(sentence)
        self.code = code
        self.command = command
