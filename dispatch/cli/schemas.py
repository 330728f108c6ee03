"""JSON Schemas of what crosses the bus, for programs in other languages; and of this tool's own documents."""

from __future__ import annotations

from typing import Any

import msgspec

from streams.messages.commands import Command
from streams.messages.events import Envelope
from streams.messages.plan import RecoveryPlan
from streams.messages.receipts import Receipt
from streams.messages.spec import JobSpec

KINDS: dict[str, Any] = {
    "command": Command,
    "event": Envelope,
    "receipt": Receipt,
    "job-spec": JobSpec,
    "recovery-plan": RecoveryPlan,
}


def schemas() -> dict[str, Any]:
    """Each schema by its name. Patterns end in `$`, which every dialect knows."""
    return {name: _dollars(msgspec.json.schema(kind)) for name, kind in KINDS.items()}


def _dollars(schema: Any) -> Any:  # noqa: ANN401  JSON of any shape
    match schema:
        case dict():
            return {
                key: value.replace(r"\Z", "$") if key == "pattern" and isinstance(value, str) else _dollars(value)
                for key, value in schema.items()
            }
        case list():
            return [_dollars(item) for item in schema]
        case _:
            return schema
