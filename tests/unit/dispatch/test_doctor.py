from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from adapters.local.calls import CAPABILITIES
from dispatch import clocks
from dispatch.bus_findings import of_copies
from dispatch.cluster_findings import of_capabilities
from dispatch.doctor import NEEDED_CONFIG
from dispatch.mending import mend
from streams.jetstream.layout import Layout
from streams.messages.calls import Capabilities

LAYOUT = Layout(replicas=3, shards=16, lease_s=0.5)
AGAIN = "dispatch setup --replicas 3 --shards 16 --lease 500ms"
SENT = datetime(2026, 11, 29, 23, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("difference", "do"),
    [
        ("n1: sync_interval must be always; else a power cut loses acknowledged events", "--print-fix"),
        ("n1: version is 2.11.3, must be 2.12 or newer", "upgrade"),
        ("servers: there are 1, must be 3 or more (profile single allows one)", "--single"),
        ("monitoring addresses: none is set, so sync_interval cannot be checked", "--monitoring URL,… or monitoring:"),
        ("monitoring addresses: 1 of 3 servers are named, must be all", "--monitoring URL,… or monitoring:"),
        ("monitoring address: http://n1:8222/varz gives no answer: refused", "start that server"),
        ("history: replicas is 1, must be 3 (profile single allows one)", "nats stream edit STREAM --replicas=3"),
        ("DISPATCH_HISTORY_1: discard is old, must be new", "setup --new-generation"),
        ("DISPATCH_WAKE: discard is new, must be old", f"nats stream rm DISPATCH_WAKE, then {AGAIN}"),
        ("KV_DISPATCH_STATUS_1: max_age is 30d, must be none", "nats stream edit KV_DISPATCH_STATUS_1"),
        ("DISPATCH_WAKE: is missing", AGAIN),
        ("DISPATCH_WAKE/shard-1: is missing", AGAIN),
        ("DISPATCH_WAKE/shard-1: max_ack_pending is 50, must be 1", "nats consumer rm DISPATCH_WAKE shard-1, then"),
    ],
)
def test_each_difference_is_told_with_what_mends_that_one(difference: str, do: str) -> None:
    told = mend(difference, LAYOUT)
    assert do in told
    assert ("--print-fix" in told) == ("sync_interval must be" in difference), "it prints a server's settings alone"
    assert "sync_interval: always" in NEEDED_CONFIG


def test_a_history_is_never_advised_to_be_removed() -> None:
    assert " rm " not in mend("DISPATCH_HISTORY_7: deny_delete is False, must be True", LAYOUT)


@pytest.mark.parametrize(
    ("ahead_s", "took_s", "told"),
    [
        (0.020, 0.010, "ok its clock is within 25 ms of this process's"),
        (-3.0, 0.010, "warn its clock is 3.0s behind this process's"),
        (90.0, 0.010, "warn its clock is 90.0s ahead of this process's"),
        (3.0, 8.0, "ok its clock is within 7000 ms of this process's"),
    ],
)
def test_a_clock_counts_as_off_only_where_the_way_of_the_answer_cannot_explain_it(
    ahead_s: float, took_s: float, told: str
) -> None:
    back = SENT + timedelta(seconds=took_s)
    read_at = SENT + timedelta(seconds=took_s / 2 + ahead_s)
    finding = clocks.finding("bus", "its", clocks.offset(SENT, read_at, back), "set it")
    assert f"{finding.level} {finding.what}" == told
    assert finding.do == ("set it" if finding.level == "warn" else "")


def test_the_leader_is_named_and_so_is_every_copy_that_is_away_or_behind() -> None:
    group = {
        "leader": "nats-2",
        "replicas": [
            {"name": "nats-1", "current": False, "lag": 12},
            {"name": "nats-3", "current": False, "offline": True},
        ],
    }
    told = [f"{each.level} {each.what}" for each in of_copies("DISPATCH_HISTORY_1", group, lead=True)]
    assert told == [
        "ok leader of DISPATCH_HISTORY_1: nats-2; copies on nats-1, nats-3",
        "warn DISPATCH_HISTORY_1: its copy on nats-1 is 12 messages behind",
        "warn DISPATCH_HISTORY_1: its copy on nats-3 is away",
    ]
    assert [each.level for each in of_copies("DISPATCH_WAKE", group, lead=False)] == ["warn", "warn"]


def test_a_stream_that_nobody_leads_is_a_fault() -> None:
    group = {"leader": "", "replicas": [{"name": "nats-1", "current": True}]}
    (finding,) = of_copies("DISPATCH_WAKE", group, lead=False)
    assert (finding.level, finding.what) == ("FAIL", "DISPATCH_WAKE has no leader: nothing is appended")


def test_call_bound_is_told_with_where_it_comes_from_and_what_follows_from_it() -> None:
    local = [each.what for each in of_capabilities("rig", CAPABILITIES)]
    assert local[0].startswith("CallBound 5s, a constant: its host takes one request at a time")
    assert "a Start 10 + 5 = 15s, others 10 + 5 = 15s" in local[1]
    other = Capabilities(kind="slurm", call_bound_s=412.0, cessation=False, read_only=True)
    told = list(of_capabilities("hpc2", other))
    assert told[0].what == "CallBound 412s, as its agent reports it"
    assert "a Start 60 + 412 = 472s, others 30 + 412 = 442s" in told[1].what
    assert told[-1].level == "warn"
