"""JSON Schemas of what crosses the bus, for programs in other languages; and of this tool's own documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dispatch.cli.document_types import DOCUMENTS, SOMETIMES, STREAMS, Error
from streams.messages.commands import Command
from streams.messages.events import Envelope
from streams.messages.plan import RecoveryPlan
from streams.messages.receipts import Receipt
from streams.messages.spec import JobSpec
from streams.messages.values import ObjectRef

KINDS: dict[str, Any] = {
    "command": Command,
    "event": Envelope,
    "receipt": Receipt,
    "job-spec": JobSpec,
    "recovery-plan": RecoveryPlan,
}

_TAG = ObjectRef.__struct_config__.tag_field  # what tells kinds of targets apart on the wire; no document has it


def schemas() -> dict[str, Any]:
    """Each schema by its name. Patterns end in `$`, which every dialect knows."""
    wire = {name: msgspec.json.schema(kind) for name, kind in KINDS.items()}
    documents = {f"dispatch.{view}/1": _document(f"dispatch.{view}/1", kinds) for view, kinds in DOCUMENTS.items()}
    streams = {f"stream-{name}": _line(f"stream-{name}", kinds) for name, kinds in STREAMS.items()}
    return {name: _dollars(schema) for name, schema in (wire | documents | streams).items()}


def _document(name: str, kinds: tuple[Any, ...]) -> dict[str, Any]:
    """The schema of one document: its name, its time, and data or an error."""
    (*data, error), parts = msgspec.json.schema_components((*kinds, Error), ref_template="#/$defs/{name}")
    return {
        "title": name,
        "type": "object",
        "properties": {
            "schema": {"const": name},
            "at": {"type": "string", "format": "date-time"},
            "data": _any_of(data),
            "error": error,
        },
        "required": ["schema", "at"],
        "oneOf": [{"required": ["data"]}, {"required": ["error"]}],
        "$defs": _whole(parts),
    }


def _line(name: str, kinds: tuple[Any, ...]) -> dict[str, Any]:
    """The schema of one line of a stream."""
    lines, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return {"title": name, **_any_of(lines), "$defs": _whole(parts)}


def _any_of(kinds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return kinds[0] if len(kinds) == 1 else {"anyOf": list(kinds)}


def _whole(schema: Any) -> Any:  # noqa: ANN401  JSON of any shape
    """The same where every key is always there but those that are marked: a document leaves no default out."""
    match schema:
        case {"properties": dict() as held, **rest}:
            held = {key: kind for key, kind in held.items() if key != _TAG or "enum" not in kind}
            required = [key for key, kind in held.items() if not kind.get(SOMETIMES)]
            kept = {key: {word: part for word, part in kind.items() if word != SOMETIMES} for key, kind in held.items()}
            return _whole(rest) | {"properties": _whole(kept), "required": required}
        case dict():
            return {key: _whole(value) for key, value in schema.items() if key != "default"}
        case list():
            return [_whole(item) for item in schema]
        case _:
            return schema


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
