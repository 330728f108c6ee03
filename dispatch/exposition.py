"""Metrics for Prometheus over HTTP, on an address of the operator's choice. Numbers and words of ours, no secret.

AddressError    the address is none, or cannot be listened on
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, start_http_server

from dispatch.units import whole_number

PORT_MAX = 65535


class AddressError(ValueError):
    """There is nothing to serve metrics on; the text says which address and why."""


def address_of(text: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`; `:PORT` is every interface. Raises AddressError."""
    host, colon, digits = text.rpartition(":")
    port = whole_number(digits)
    if not colon or port is None or port > PORT_MAX:
        raise AddressError(f"{text[:80]!r} is no HOST:PORT, such as 127.0.0.1:9100 or :9100")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", port  # noqa: S104  `:PORT` asks for it


@contextlib.contextmanager
def exposed(registry: CollectorRegistry, address: str | None) -> Iterator[int | None]:
    """Serve `/metrics` for as long as the block lasts; the port, None without an address. Raises AddressError."""
    if address is None:
        yield None
        return
    host, port = address_of(address)
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise AddressError(f"metrics cannot be served on {address[:80]}: {error.strerror or error}") from error
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
