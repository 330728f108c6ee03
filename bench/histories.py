"""Histories to measure with: made once by the real passes, then given to as many jobs as are wanted.

A job's events lie one after the other on the stream, job after job, so each job's history is its model's with names,
ids and revisions moved on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from streams import codec, subjects
from streams.messages.events import Entry
from streams.messages.values import Phase
from streams.ports import Stored
from tests.driver import Driver

TENANT = "nlp"
MODEL = "llama"
AT = datetime(2026, 11, 30, tzinfo=UTC)
ID_LENGTH = 26
SPEC: dict[str, Any] = {
    "nodes": 2,
    "ranks_per_node": 8,
    "env": {"NCCL_DEBUG": "WARN", "DATA": "/data/mix-7"},
    "labels": {"team": "nlp", "model": "llama-7b"},
    "time_limit": 86400,
}
_REVISIONS = frozenset({"revision", "read_revision", "expected"})
_IDS = frozenset({"id", "nonce", "created"})


async def open_history() -> list[Stored]:
    """The history of a job that runs: ten events."""
    driver = Driver(tenant=TENANT, job=MODEL)
    await driver.submit("sleep 1000", **SPEC)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    return [stored async for stored in driver.bus.history.stored()]


async def settled_history() -> list[Stored]:
    """The history of a job that ran, ended well and is settled: fourteen events."""
    driver = Driver(tenant=TENANT, job=MODEL)
    await driver.submit("sleep 100", **SPEC)
    await driver.settle()
    return [stored async for stored in driver.bus.history.stored()]


def name_of(number: int) -> str:
    """The job's name."""
    return f"job-{number:05d}"


def histories(model: list[Stored], jobs: int) -> Iterator[Stored]:
    """The model's events for each of that many jobs, as they would lie on a stream."""
    bodies = [json.loads(stored.data) for stored in model]
    for number in range(jobs):
        moved_by, name = number * len(model), name_of(number)
        for stored, body in zip(model, bodies, strict=True):
            data = json.dumps(_moved(body, name, moved_by), separators=(",", ":")).encode()
            yield replace(
                stored, subject=subjects.job(TENANT, name), data=data, revision=stored.revision + moved_by, stored_at=AT
            )


def entry_of(stored: Stored) -> Entry:
    """The entry in one stored message; AssertionError if the moved bytes are none of ours."""
    entry = codec.decode_event(stored.subject, stored.data, revision=stored.revision, stored_at=stored.stored_at)
    assert hasattr(entry.content, "event"), entry.content
    return entry


def _moved(value: Any, name: str, by: int) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {key: _moved_field(key, item, name, by) for key, item in value.items()}
    return [_moved(item, name, by) for item in value] if isinstance(value, list) else value


def _moved_field(key: str, value: Any, name: str, by: int) -> Any:  # noqa: ANN401 - any JSON
    if key == "job":
        return name
    if key in _REVISIONS and isinstance(value, int) and value > 0:
        return value + by
    if key in _IDS and isinstance(value, str) and len(value) == ID_LENGTH:
        return f"{int(value) + by:0{ID_LENGTH}d}"
    return _moved(value, name, by)
