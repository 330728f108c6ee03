"""What a server says of itself over its monitoring port: the settings that JetStream's own API does not show."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from typing import Any

from streams.addresses import shown, without_secrets
from streams.errors import BusUnreachableError


async def read_monitor(address: str, path: str, *, timeout_s: float = 5.0) -> dict[str, Any]:
    """The JSON that `path` (such as `varz`) shows at `address` (`http://host:8222`).

    Raises BusUnreachableError when there is no such answer, ValueError when the address is no http(s) one.
    """
    if not address.startswith(("http://", "https://")):
        raise ValueError(f"monitoring address {shown(address)[:80]!r} must begin with http:// or https://")
    return await asyncio.to_thread(_fetch, f"{address.rstrip('/')}/{path}", timeout_s)


async def is_healthy(address: str) -> bool:
    """Whether the server is up and has recovered its streams."""
    try:
        return (await read_monitor(address, "healthz", timeout_s=1.0)).get("status") == "ok"
    except BusUnreachableError:
        return False


def _fetch(url: str, timeout_s: float) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:  # noqa: S310 - the scheme is checked above
            read: dict[str, Any] = json.load(answer)
            return read
    except (OSError, ValueError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it is an open answer too
        raise BusUnreachableError(f"{shown(url)} gives no answer: {without_secrets(str(error))}") from error
