"""One spelling of a time inside a sentence, so that a screen can put it in its own zone."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(at: datetime) -> str:
    """RFC 3339, UTC, whole seconds: `2026-11-29T03:27:12Z`."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
