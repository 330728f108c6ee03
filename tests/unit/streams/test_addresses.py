"""Which texts are the address of a server."""

from __future__ import annotations

import pytest

from streams.addresses import fault_in


@pytest.mark.parametrize(
    "url",
    [
        "nats://nats-1.example:4222",
        "tls://h",
        "h",
        "h:4222",
        "10.0.0.7",
        "nats://[::1]:4222",
        "wss://h",
        "nats://u:p@h",
    ],
)
def test_an_address_that_can_be_connected_to_has_no_fault(url: str) -> None:
    assert fault_in(url) is None


@pytest.mark.parametrize(
    "url", ["", "nats://", "://h", "ftp://h", "nats://h:65536", "h:x", "nats://[::1", "a b", "h:-1"]
)
def test_what_no_client_could_connect_to_is_told_before_one_tries(url: str) -> None:
    assert fault_in(url)
