"""Event ids: 26 lowercase characters that sort by time. Time and randomness are arguments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

RANDOM_BYTES = 10

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)  # two characters are ten bits
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHIFTS = tuple(range(120, -1, -10))


def event_id(at: datetime, randomness: bytes) -> str:
    """The id of an event written at `at` (aware): 48 bits of milliseconds, then the 80 bits of `randomness`.

    The layout is ULID's, in lower case. Raises ValueError on a naive time, one before 1970, or a wrong length.
    """
    if at.tzinfo is None:
        raise ValueError("an event id needs a time with a zone")
    if len(randomness) != RANDOM_BYTES:
        raise ValueError(f"an event id needs {RANDOM_BYTES} random bytes, got {len(randomness)}")
    milliseconds = (at - _EPOCH) // timedelta(milliseconds=1)
    if not 0 <= milliseconds < 1 << 48:
        raise ValueError(f"an event id cannot hold the time {at.isoformat()}")
    number = milliseconds << 80 | int.from_bytes(randomness, "big")
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])
