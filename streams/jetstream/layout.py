"""What is on the bus: every stream and consumer with the settings safety needs, and how a real one differs.

Pure data. Settings are spelled as in JetStream's JSON API; durations there are nanoseconds. Each value that is not
a plain default has its reason beside it (facts measured on nats-server 2.15).
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from streams import subjects

COMMANDS = "DISPATCH_COMMANDS"
RECEIPTS = "DISPATCH_RECEIPTS"
WAKE = "DISPATCH_WAKE"
TIMERS = "DISPATCH_TIMERS"
REPLICAS = "KV_DISPATCH_REPLICAS"
REPLICAS_KEYS = "$KV.DISPATCH_REPLICAS"

OWN_API = "$JS.API"  # JetStream's methods in the account that holds the streams
IMPORTED_API = "dispatch.api"  # the same, imported into another account

SHARDS_MAX = 256
RECEIPTS_KEPT_DAYS = 30
WAKE_BYTES_MAX = 4096  # a wake-up has no body, and a timer's headers are a few hundred bytes
NANOSECONDS = 1_000_000_000
SERVER_VERSION_MIN = (2, 12)
PRIORITY_GROUP = "replicas"

_HISTORY = re.compile(r"DISPATCH_HISTORY_([1-9][0-9]*)\Z")
_DURATIONS = frozenset({"max_age", "ack_wait"})
_SERVER_DEFAULTS = {"max_age": 0, "max_msgs_per_subject": -1, "max_bytes": -1, "max_msgs": -1, "max_msg_size": -1}

Settings = dict[str, Any]


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator chooses once, at set-up. Kept in the streams' metadata, so that every replica agrees.

    `lease_s`: how long a wake-up or command stays in hand unacknowledged. `history_bytes_max`: 0 is no limit.
    `installation`: a token on every object's tag, so that two installations on one scheduler keep apart.
    """

    installation: str = "dispatch"
    replicas: int = 3
    shards: int = 64
    lease_s: float = 30.0
    history_bytes_max: int = 0


def history_stream(generation: int) -> str:
    return f"DISPATCH_HISTORY_{generation}"


def generation_of(stream: str) -> int | None:
    """The generation that a stream's name carries; None if it is no history."""
    found = _HISTORY.match(stream)
    return int(found.group(1)) if found else None


def status_stream(generation: int) -> str:
    """The status bucket of one generation: its revisions mean nothing to another."""
    return f"KV_DISPATCH_STATUS_{generation}"


def status_keys(generation: int) -> str:
    return f"$KV.DISPATCH_STATUS_{generation}"


def streams_of(layout: Layout, generation: int) -> tuple[Settings, ...]:
    """Every stream and bucket, in the order in which they must be created."""
    return (
        history_settings(layout, generation),
        _commands(layout),
        _receipts(layout),
        _timers(layout),
        _wake(layout),
        status_settings(layout, generation),
        _replicas(layout),
    )


def history_settings(layout: Layout, generation: int) -> Settings:
    """Nothing that was acknowledged may vanish or move: every way to forget a message rewinds a revision."""
    return {
        **_file_stream(layout, history_stream(generation), [subjects.jobs()]),
        "retention": "limits",
        "discard": "new",  # `old`, the default, silently drops the oldest events at a limit
        "max_bytes": layout.history_bytes_max or -1,
        "deny_delete": True,
        "deny_purge": True,
        "allow_rollup_hdrs": False,
        "allow_msg_ttl": False,  # a message with a TTL vanishes in spite of deny_delete and deny_purge
        "allow_direct": True,
        "allow_atomic": True,
        "compression": "none",  # s2 made the read of one job ten times slower
        "metadata": metadata_of(layout),
    }


def status_settings(layout: Layout, generation: int) -> Settings:
    return _bucket(layout, status_stream(generation), status_keys(generation))


def consumers_of(layout: Layout) -> tuple[tuple[str, Settings], ...]:
    """Stream and settings of every durable consumer: one a shard, for wake-ups and for commands."""
    return tuple(
        (stream, _consumer(layout, shard, word))
        for stream, word in ((COMMANDS, "command"), (WAKE, "wake"))
        for shard in range(layout.shards)
    )


def consumer_name(shard: int) -> str:
    return f"shard-{shard}"


def metadata_of(layout: Layout) -> dict[str, str]:
    return {
        "dispatch-installation": layout.installation,
        "dispatch-shards": str(layout.shards),
        "dispatch-lease-ms": str(round(layout.lease_s * 1000)),
    }


def layout_of(stream: Settings) -> Layout | None:
    """The layout that a stream's settings tell; None if it was not made by set-up."""
    metadata = stream.get("metadata") or {}
    try:
        installation = metadata["dispatch-installation"]
        shards, lease_ms = int(metadata["dispatch-shards"]), int(metadata["dispatch-lease-ms"])
    except (KeyError, ValueError):
        return None
    replicas = int(stream.get("num_replicas", 1))
    return Layout(installation=installation, replicas=replicas, shards=shards, lease_s=lease_ms / 1000)


def differences(what: str, wanted: Settings, actual: Settings) -> tuple[str, ...]:
    """One sentence for each setting of `wanted` that `actual`, as the server returned it, does not have."""
    return tuple(
        f"{what}: {name} is {_said(name, found)}, must be {_said(name, value)}"
        for name, value in wanted.items()
        if not _same(value, found := actual.get(name, _SERVER_DEFAULTS.get(name)))
    )


def _file_stream(layout: Layout, name: str, listens_on: list[str]) -> Settings:
    return {
        "name": name,
        "subjects": listens_on,
        "storage": "file",
        "num_replicas": layout.replicas,
        "max_age": 0,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_msg_size": -1,
        "max_msgs_per_subject": -1,
    }


def _commands(layout: Layout) -> Settings:
    return {
        **_file_stream(layout, COMMANDS, [subjects.EVERY_COMMAND]),
        "retention": "workqueue",
        "discard": "new",
        "subject_transform": {
            "src": subjects.EVERY_COMMAND,
            "dest": subjects.commands_by_shard(layout.shards),
        },
        "metadata": metadata_of(layout),
    }


def _receipts(layout: Layout) -> Settings:
    return {
        **_file_stream(layout, RECEIPTS, [subjects.EVERY_RECEIPT]),
        "retention": "limits",
        "discard": "old",
        "max_msgs_per_subject": 1,
        "max_age": RECEIPTS_KEPT_DAYS * 86400 * NANOSECONDS,
        "allow_direct": True,
    }


def _timers(layout: Layout) -> Settings:
    """Message schedules force rollups on and purges open, so timers never share a stream with events."""
    return {
        **_file_stream(layout, TIMERS, [subjects.EVERY_TIMER]),
        "retention": "limits",
        "discard": "old",
        "max_msgs_per_subject": 1,
        "max_msg_size": WAKE_BYTES_MAX,
        "allow_msg_schedules": True,
        "allow_msg_ttl": True,  # what is due is copied into the wake-ups at once and then only fills the disk
    }


def _wake(layout: Layout) -> Settings:
    """One wake-up a job. With discard `new` one that arrives while another waits would be lost."""
    placed = subjects.wakes_by_shard(layout.shards)
    return {
        **_file_stream(layout, WAKE, [subjects.EVERY_WAKE]),
        "retention": "workqueue",
        "discard": "old",
        "max_msgs_per_subject": 1,
        "max_msg_size": WAKE_BYTES_MAX,  # every agent may publish here
        "subject_transform": {"src": subjects.EVERY_WAKE, "dest": placed},
        "sources": [{"name": TIMERS, "subject_transforms": [{"src": subjects.EVERY_DUE_TIMER, "dest": placed}]}],
        "metadata": metadata_of(layout),
    }


def _replicas(layout: Layout) -> Settings:
    return {**_bucket(layout, REPLICAS, REPLICAS_KEYS), "allow_msg_ttl": True}


def _bucket(layout: Layout, stream: str, keys: str) -> Settings:
    return {
        **_file_stream(layout, stream, [f"{keys}.>"]),
        "retention": "limits",
        "discard": "new",
        "max_msgs_per_subject": 1,
        "allow_rollup_hdrs": True,
        "deny_delete": True,
        "allow_direct": True,
    }


def _consumer(layout: Layout, shard: int, word: str) -> Settings:
    """The first shard also takes what no transform could place (a `*` for a name), else nobody ever would."""
    placed = subjects.shard_filter(shard, word)
    unplaced = {"command": subjects.EVERY_COMMAND, "wake": subjects.EVERY_WAKE}[word]
    return {
        "durable_name": consumer_name(shard),
        **({"filter_subjects": [placed, unplaced]} if shard == 0 else {"filter_subject": placed}),
        "deliver_policy": "all",
        "ack_policy": "explicit",
        "ack_wait": round(layout.lease_s * NANOSECONDS),
        "max_deliver": -1,
        "max_ack_pending": 1,  # with more, two replicas were seen in one job at once
        "priority_policy": "prioritized",
        "priority_groups": [PRIORITY_GROUP],
    }


def _same(wanted: Any, found: Any) -> bool:  # noqa: ANN401 - any JSON
    """Equal, but for what the server adds to a table, and for a switch that is off and left out."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(_same(value, found.get(key)) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list):
        return len(wanted) == len(found) and all(map(_same, wanted, found))
    return bool(wanted == found or (wanted is False and not found))


def _said(name: str, value: Any) -> str:  # noqa: ANN401 - any JSON
    if name in _DURATIONS and isinstance(value, int):
        return _duration(value) if value else "none"
    return "none" if value is None or value == -1 else str(value)


def _duration(nanoseconds: int) -> str:
    """The largest unit that says it whole: `30d`, `90s`, `0.5s`."""
    for unit, seconds in (("d", 86400), ("h", 3600), ("m", 60)):
        if nanoseconds % (seconds * NANOSECONDS) == 0:
            return f"{nanoseconds // (seconds * NANOSECONDS)}{unit}"
    return f"{nanoseconds / NANOSECONDS:.9g}s"
