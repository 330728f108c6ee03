"""Metrics are served where they were asked for, and an address that is none is told before anything is done."""

from __future__ import annotations

import socket
import urllib.request

import pytest
from prometheus_client import CollectorRegistry, Counter

from dispatch.exposition import AddressError, address_of, exposed


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("127.0.0.1:9100", ("127.0.0.1", 9100)),
        (":9100", ("0.0.0.0", 9100)),  # noqa: S104  it is what :PORT asks for
        ("[::1]:9100", ("::1", 9100)),
        ("sv-a.rack-3:0", ("sv-a.rack-3", 0)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, meant: tuple[str, int]) -> None:
    assert address_of(text) == meant


@pytest.mark.parametrize(
    "text", ["9100", "", ":", "host:port", "host:99999", "host:-1", "host:²", "host:" + "9" * 5000]
)
def test_what_is_no_address_is_told(text: str) -> None:
    with pytest.raises(AddressError, match="is no HOST:PORT"):
        address_of(text)


def test_metrics_are_served_for_as_long_as_the_block_lasts() -> None:
    registry = CollectorRegistry()
    Counter("dispatch_wake_ups", "Wake-ups", registry=registry).inc(3)
    with exposed(registry, "127.0.0.1:0") as port:
        read = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    assert "dispatch_wake_ups_total 3.0" in read
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics")


def test_without_an_address_nothing_is_served() -> None:
    with exposed(CollectorRegistry(), None) as port:
        assert port is None


def test_an_address_that_is_taken_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(AddressError, match="metrics cannot be served on"),
            exposed(CollectorRegistry(), f"127.0.0.1:{port}"),
        ):
            pass
