"""Durations and sizes as people write them: always with a unit. And whole numbers, which have none.

A duration is one or more numbers with units, largest first: `90s`, `1h30m`, `2d04h`, `250ms`. A size is one
number with K, M, G or T (powers of 1000), Ki, Mi, Gi or Ti (powers of 1024), or B (bytes).
"""

from __future__ import annotations

import re
from decimal import Decimal

DURATION_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
SIZE_UNITS = {
    "B": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}

_DURATION = re.compile(
    r"(?:(?P<d>[0-9]{1,9}(?:\.[0-9]{1,6})?)d)?(?:(?P<h>[0-9]{1,9}(?:\.[0-9]{1,6})?)h)?"
    r"(?:(?P<m>[0-9]{1,9}(?:\.[0-9]{1,6})?)m(?!s))?(?:(?P<s>[0-9]{1,9}(?:\.[0-9]{1,6})?)s)?"
    r"(?:(?P<ms>[0-9]{1,9})ms)?\Z"
)
_SIZE = re.compile(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,6})?)(?P<unit>[KMGT]i?)?B?\Z")
_BARE = re.compile(r"[0-9]+(?:\.[0-9]+)?\Z")
_WHOLE = re.compile(r"[0-9]{1,18}\Z")


def is_bare_number(text: str) -> bool:
    """Whether `text` is a number without a unit, which is never a duration or a size."""
    return _BARE.match(text) is not None


def whole_number(text: str) -> int | None:
    """The number that at most 18 of the digits 0 to 9 make; None of anything else, such as `²`, a sign or nothing."""
    return int(text) if _WHOLE.match(text) else None


def parse_duration(text: str) -> Decimal:
    """Seconds. Raises ValueError with what is wrong, in words."""
    if is_bare_number(text):
        raise ValueError(f"{text} has no unit")
    match = _DURATION.match(text)
    if match is None or not text:
        raise ValueError(f"{text[:40]!r} is not a duration")
    seconds = Decimal(0)
    for unit, length in DURATION_UNITS.items():
        if match[unit] is not None:
            seconds += Decimal(match[unit]) * length
    if match["ms"] is not None:
        seconds += Decimal(match["ms"]) / 1000
    return seconds


def parse_size(text: str) -> int:
    """Bytes, rounded down. Raises ValueError with what is wrong, in words."""
    if is_bare_number(text):
        raise ValueError(f"{text} has no unit")
    match = _SIZE.match(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a size")
    return int(Decimal(match["number"]) * SIZE_UNITS[match["unit"] or "B"])


def exact_duration(seconds: float) -> str:
    """A setting as a person would write it: `24h`, `90s`, `1h30m`; parses back to the same number."""
    if seconds != int(seconds):
        return f"{Decimal(str(seconds)).normalize():f}s"
    left = int(seconds)
    if left >= 3 * 86400 and left % 86400 == 0:
        return f"{left // 86400}d"
    for unit, length in (("h", 3600), ("m", 60)):
        if left >= length and left % length == 0:
            return f"{left // length}{unit}"
    if left < 120:
        return f"{left}s"
    hours, rest = divmod(left, 3600)
    minutes, secs = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "m"), (secs, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number)


def exact_size(size: int) -> str:
    """A size as a person would write it: `900G`; the largest unit that divides it, decimal before binary."""
    for unit in ("T", "G", "M", "K", "Ti", "Gi", "Mi", "Ki"):
        if size and size % SIZE_UNITS[unit] == 0:
            return f"{size // SIZE_UNITS[unit]}{unit}"
    return f"{size}B"


def elapsed(seconds: float) -> str:
    """How long something has lasted, two units at most: `8s`, `20m31s`, `3h30m`, `2d04h`."""
    left = max(0, int(seconds))
    if left < 60:
        return f"{left}s"
    if left < 3600:
        return _pair(left, 60, ("m", "s"), 1)
    if left < 86400:
        return _pair(left, 3600, ("h", "m"), 60)
    return _pair(left, 86400, ("d", "h"), 3600)


def _pair(left: int, large: int, units: tuple[str, str], small: int) -> str:
    rest = left % large // small
    tail = f"{rest:02d}{units[1]}" if rest else ""
    return f"{left // large}{units[0]}{tail}"
