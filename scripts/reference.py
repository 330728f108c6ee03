"""Write docs/reference/ from the types, so that it cannot say anything else: make reference.

`asyncapi.json` says where which message goes; `messages.md` lists every command, event and value with its fields; `words.md` every word list; `schemas/` holds the
JSON Schemas for programs in other languages. A tidy test fails when they are not what the types say.
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from projections.status import view
from scripts import reference_asyncapi, reference_cli
from streams.messages import events, reasons, receipts, spec, values
from streams.messages.commands import Command, CommandBase
from streams.messages.plan import RecoveryPlan

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
GENERATED = (
    "<!-- Written by scripts/reference.py from streams/messages; change the types, then run `make reference`. -->"
)

ALTERNATIVES_MAX = 6

Schema = dict[str, Any]

SCHEMAS: dict[str, Any] = {
    "command": Command,
    "event": events.Envelope,
    "receipt": receipts.Receipt,
    "job-spec": spec.JobSpec,
    "recovery-plan": RecoveryPlan,
}

WORDS: dict[str, tuple[type[StrEnum], ...]] = {
    "Decisions and refusals": (reasons.Reason, reasons.RefusalCode),
    "Runs and objects": (values.CauseKind, values.Phase, values.HoldSeen, values.Verb, values.ReplyOutcome),
    "Proof that processes are gone": (
        values.CessationAnswer,
        values.CessationBasis,
        values.StopBasis,
        values.NodeAttested,
    ),
    "What people decide": (values.Disposition, values.HoldKind, values.Outcome),
    "Receipts": (receipts.Answer, receipts.Progress),
    "What a job is told to be": (view.State, view.Alert, view.Nature),
}


def schemas() -> dict[str, str]:
    """Each JSON Schema by its file name. Patterns end in `$`, which every dialect knows."""
    return {
        f"schemas/{name}.json": json.dumps(msgspec.json.schema(kind), indent=1).replace(r"\\Z", "$") + "\n"
        for name, kind in SCHEMAS.items()
    }


def kind_of(field: Schema) -> str:
    """A field's type in a few words, with a link to where a named one is told."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[`{name}`](#{name.lower()})"
    if len(field.get("anyOf", ())) > ALTERNATIVES_MAX:
        return "one of those below"
    if "anyOf" in field:
        return " or ".join("none" if part.get("type") == "null" else kind_of(part) for part in field["anyOf"])
    match field.get("type"):
        case "array":
            return f"list of {kind_of(field['items'])}" if field.get("items") else "list"
        case "object":
            return "map of texts"
        case "string" if field.get("format") == "date-time":
            return "time, RFC 3339 with zone"
        case "string" if field.get("pattern") == values.TOKEN_PATTERN:
            return "name"
        case "string":
            return "text"
        case "integer":
            return "integer"
        case "boolean":
            return "true or false"
        case other:
            return str(other)


def default_of(name: str, field: Schema, required: list[str]) -> str:
    """What holds when the field is left out."""
    if name in required:
        return "required"
    default = field.get("default")
    if isinstance(default, list | tuple | dict) and not default:
        return "empty"
    return "none" if default in (None, "") else f"`{json.dumps(default)}`"


def limits_of(field: Schema) -> str:
    """The bounds that the codec keeps."""
    least, most, length = (
        field.get("minimum"),
        field.get("maximum"),
        field.get("maxLength") or field.get("maxProperties"),
    )
    said = [
        f"{least:,} to {most:,}" if least is not None and most is not None else "",
        f"at most {length:,}" if length else "",
    ]
    return ", ".join(filter(None, said))


def section(name: str, schema: Schema, *, told: frozenset[str] = frozenset()) -> str:
    """One struct or word list as a section of its own; the fields in `told` were shown before."""
    lines = [f"### {name}", "", schema.get("description", "").strip(), ""]
    if "enum" in schema:
        return "\n".join([*lines, " ".join(f"`{word}`" for word in schema["enum"]), ""])
    fields = {field: about for field, about in schema.get("properties", {}).items() if field not in told}
    tags = {field: about["enum"][0] for field, about in fields.items() if set(about) == {"enum"}}
    if tags:
        lines += [f"Carries {', '.join(f'`{field}`: `{tag}`' for field, tag in tags.items())}.", ""]
    rows = [
        f"| `{field}` | {kind_of(about)} | {default_of(field, about, schema.get('required', []))} | {limits_of(about)} |"
        for field, about in fields.items()
        if field not in tags
    ]
    if rows:
        lines += ["| field | type | default | limits |", "|---|---|---|---|", *rows, ""]
    return "\n".join(lines)


def messages() -> str:
    """Every command, the receipt, every event and every value, in that order, each once."""
    _, components = msgspec.json.schema_components(list(SCHEMAS.values()))
    base = msgspec.json.schema_components([CommandBase])[1]["CommandBase"]
    commands = [kind.__name__ for kind in Command.__args__]
    happened = [kind.__name__ for kind in events.Event.__args__]
    values_of_them = sorted(set(components) - {*commands, *happened, "Receipt", "Envelope"})
    told = frozenset(base["properties"])
    parts = [
        (
            "Commands",
            "What a service or a person publishes on `dispatch.command.<tenant>.<actor>.<verb>.<job>`.",
            [section("Every command", base), *(section(name, components[name], told=told) for name in commands)],
        ),
        (
            "The receipt",
            "What became of a command, on `dispatch.receipt.<tenant>.<command>`; the last one counts.",
            [section("Receipt", components["Receipt"])],
        ),
        (
            "Events",
            "What a history holds, on `dispatch.job.<tenant>.<job>`: one envelope a message.",
            [section(name, components[name]) for name in ("Envelope", *happened)],
        ),
        ("Values", "What they are made of.", [section(name, components[name]) for name in values_of_them]),
    ]
    text = [
        GENERATED,
        "",
        "# Messages",
        "",
        "JSON, UTF-8. A field at its default is left out; an unknown field is ignored.",
        "",
    ]
    for title, about, sections in parts:
        text += [f"## {title}", "", about, "", *sections]
    return "\n".join(text).rstrip() + "\n"


def words() -> str:
    """Every word list: one spelling in code, on the wire and on the screen."""
    text = [GENERATED, "", "# Words", "", "One spelling in code, on the wire and on the screen.", ""]
    for title, lists in WORDS.items():
        text += [f"## {title}", ""]
        for kind in lists:
            text += [
                f"**{kind.__name__}.** {(kind.__doc__ or '').strip()}",
                "",
                " ".join(f"`{word}`" for word in kind),
                "",
            ]
    return "\n".join(text).rstrip() + "\n"


def pages() -> dict[str, str]:
    """Every generated file by its path under docs/reference."""
    return {
        "messages.md": messages(),
        "words.md": words(),
        **schemas(),
        **reference_asyncapi.pages(),
        **reference_cli.pages(),
    }


def main() -> None:
    """Write them all."""
    for name, text in pages().items():
        path = REFERENCE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
