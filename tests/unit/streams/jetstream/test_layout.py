from __future__ import annotations

from streams.jetstream.check import Profile, ServerFacts, server_differences
from streams.jetstream.layout import (
    Layout,
    consumers_of,
    differences,
    generation_of,
    history_settings,
    history_stream,
    layout_of,
    streams_of,
)
from streams.subjects import EVERY_COMMAND, EVERY_WAKE

LAYOUT = Layout(installation="d1", replicas=3, shards=4, lease_s=0.5)


def test_what_is_as_it_must_be_differs_in_nothing() -> None:
    for wanted in streams_of(LAYOUT, 1):
        assert differences("x", wanted, wanted) == ()


def test_what_a_server_adds_is_no_difference() -> None:
    wanted = history_settings(LAYOUT, 1)
    actual = {**wanted, "duplicate_window": 120, "metadata": {**wanted["metadata"], "_nats.ver": "2.15.1"}}
    assert differences("x", wanted, actual) == ()


def test_a_switch_that_a_server_leaves_out_is_off() -> None:
    wanted = history_settings(LAYOUT, 1)
    actual = {key: value for key, value in wanted.items() if value is not False}
    assert differences("x", wanted, actual) == ()
    del actual["deny_purge"]
    assert differences("x", wanted, actual) == ("x: deny_purge is none, must be True",)


def test_each_difference_is_one_sentence() -> None:
    wanted = history_settings(LAYOUT, 1)
    actual = {**wanted, "discard": "old", "max_age": 30 * 86400 * 10**9, "num_replicas": 1}
    assert differences("history", wanted, actual) == (
        "history: num_replicas is 1, must be 3",
        "history: max_age is 30d, must be none",
        "history: discard is old, must be new",
    )


def test_durations_are_said_in_the_largest_unit_that_fits() -> None:
    for nanoseconds, said in ((500_000_000, "0.5s"), (90 * 10**9, "90s"), (7200 * 10**9, "2h"), (60 * 10**9, "1m")):
        assert differences("x", {"ack_wait": 0}, {"ack_wait": nanoseconds}) == (f"x: ack_wait is {said}, must be none",)


def test_the_layout_travels_in_the_streams_metadata() -> None:
    assert layout_of(history_settings(LAYOUT, 1)) == LAYOUT
    assert layout_of({"metadata": {}}) is None
    assert (
        layout_of({"metadata": {"dispatch-shards": "many", "dispatch-lease-ms": "1", "dispatch-installation": "d"}})
        is None
    )
    assert layout_of({}) is None


def test_a_streams_name_carries_its_generation() -> None:
    assert generation_of(history_stream(12)) == 12
    for name in ("DISPATCH_HISTORY_0", "DISPATCH_HISTORY_x", "DISPATCH_HISTORY_1_old", "DISPATCH_WAKE"):
        assert generation_of(name) is None


def test_no_two_consumers_of_a_queue_take_the_same_message() -> None:
    filters = [
        (stream, taken)
        for stream, wanted in consumers_of(LAYOUT)
        for taken in wanted.get("filter_subjects", [wanted.get("filter_subject")])
    ]
    assert len(filters) == len(set(filters)) == 2 * LAYOUT.shards + 2
    assert {taken for _, taken in filters if not taken.startswith("dispatch.shard.")} == {EVERY_COMMAND, EVERY_WAKE}
    assert all(wanted["max_ack_pending"] == 1 for _, wanted in consumers_of(LAYOUT))


def a_server(name: str, **changes: object) -> ServerFacts:
    facts = {"name": name, "version": "2.15.1", "sync_always": True, "cluster_size": 3, **changes}
    return ServerFacts(**facts)  # type: ignore[arg-type]


def test_three_synced_servers_are_as_they_must_be() -> None:
    assert server_differences([a_server("n1"), a_server("n2"), a_server("n3")], Profile.PRODUCTION) == []


def test_one_server_of_three_that_does_not_sync_or_is_old_is_named() -> None:
    servers = [a_server("n1"), a_server("n2", sync_always=False), a_server("n3", version="2.11.9")]
    assert server_differences(servers, Profile.PRODUCTION) == [
        "n2: sync_interval must be always; else a power cut loses acknowledged events",
        "n3: version is 2.11.9, must be 2.12 or newer",
    ]


def test_a_version_that_cannot_be_read_counts_as_old() -> None:
    assert server_differences([a_server("n1", version="dev", cluster_size=1)], Profile.SINGLE) != []


def test_one_server_asked_three_times_is_not_three() -> None:
    (fault,) = server_differences([a_server("n1")] * 3, Profile.PRODUCTION)
    assert fault.startswith("monitoring addresses")
