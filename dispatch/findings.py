"""One thing that `dispatch doctor` looked at: how it is, in one line, and what to change."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing looked at. `level`: ok, warn or FAIL. `do`: what to change, "" where nothing is."""

    level: str
    part: str
    what: str
    do: str = ""


def ok(part: str, what: str) -> Finding:
    return Finding(level="ok", part=part, what=what)


def warn(part: str, what: str, do: str = "") -> Finding:
    return Finding(level="warn", part=part, what=what, do=do)


def fail(part: str, what: str, do: str = "") -> Finding:
    return Finding(level="FAIL", part=part, what=what, do=do)
