"""Addresses of servers: whether one is any, and as it may be shown, without user and password. Light: all may need it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

PORT_FAULT = "its port is no number from 1 to 65535"
SCHEMES = ("nats", "tls", "ws", "wss")
_SECRET = re.compile(r"//(?:[^/\s]*|[^,\s]*)@")  # a password may hold a comma, an @ or a slash


def without_secrets(text: str) -> str:
    """`text` without the user and password of any address in it."""
    return _SECRET.sub("//", text)


def shown(url: str) -> str:
    """One address as it may be shown: without user and password, also where it has no scheme."""
    scheme, slashes, rest = url.partition("://")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}" if slashes else url.rpartition("@")[2]


def fault_in(url: str) -> str | None:
    """Why this is no address of a NATS server; None for one that is. Says nothing of user and password."""
    try:
        parts = urlsplit(url if "://" in url else f"nats://{url}")
        host = parts.hostname
    except ValueError:
        return "its host cannot be read"
    if parts.scheme not in SCHEMES:
        return f"it begins with none of {', '.join(f'{scheme}://' for scheme in SCHEMES)}"
    if not host or any(sign.isspace() for sign in url):
        return "it names no host"
    try:
        return None if parts.port != 0 else PORT_FAULT
    except ValueError:
        return PORT_FAULT
