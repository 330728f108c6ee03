"""Addresses of servers as they may be shown: without user and password. Light: every command may need it."""

from __future__ import annotations

import re

_SECRET = re.compile(r"//(?:[^/\s]*|[^,\s]*)@")  # a password may hold a comma, an @ or a slash


def without_secrets(text: str) -> str:
    """`text` without the user and password of any address in it."""
    return _SECRET.sub("//", text)


def shown(url: str) -> str:
    """One address as it may be shown: without user and password, also where it has no scheme."""
    scheme, slashes, rest = url.partition("://")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}" if slashes else url.rpartition("@")[2]
