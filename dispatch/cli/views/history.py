"""`dispatch history`: every event as a sentence, with who and the code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dispatch.cli.columns import table
from dispatch.cli.screen import clean
from dispatch.cli.times import Times, wire_time
from projections.jsonl import dump_line
from projections.timeline import Line
from streams.messages.events import Entry


def row(times: Times, line: Line) -> list[str]:
    """Number, time, kind, who, sentence, code."""
    return [str(line.number), times.at(line.at), line.kind.value, *_words(times, line)]


def full_row(times: Times, line: Line) -> list[str]:
    """With the bus revision and the event's id."""
    return [*row(times, line), f"r{line.revision}", line.id or "-"]


def full_lines(times: Times, lines: Sequence[Line], entries: Sequence[Entry]) -> list[str]:
    """Each event with its revision and id, and below it its own fields on one line of JSON."""
    rows = table([full_row(times, line) for line in lines], free=4, width=None, right=frozenset({0}))
    fields = [f"      {_flat(stored(entries[line.number - 1]))}" for line in lines]
    return [text for pair in zip(rows, fields, strict=True) for text in pair]


def stored(entry: Entry) -> dict[str, Any]:
    """Everything that the bus holds of an event."""
    found: dict[str, Any] = json.loads(dump_line(entry))
    return found


def _flat(found: dict[str, Any]) -> str:
    envelope = found.get("event")
    event = envelope.get("event") if isinstance(envelope, dict) else found
    return json.dumps(event, separators=(",", ":"))


def event_document(line: Line, entries: Sequence[Entry], *, full: bool) -> dict[str, object]:
    """One event of `entries`, the whole history, as a program reads it; `full`: with what the bus holds of it."""
    document: dict[str, object] = {
        "number": line.number,
        "revision": line.revision,
        "at": wire_time(line.at),
        "kind": line.kind.value,
        "who": line.who,
        "sentence": line.sentence,
        "code": line.code,
        "id": line.id,
    }
    return document | ({"stored": stored(entries[line.number - 1])} if full else {})


def live_row(times: Times, line: Line) -> list[str]:
    """Time, number, kind, sentence, code: an event as it happens."""
    _, sentence, code = _words(times, line)
    return [times.at(line.at), f"{f'#{line.number}':<4}", f"{line.kind.value:<8}", sentence, code]


def _words(times: Times, line: Line) -> list[str]:
    return [clean(line.who), clean(times.local(line.sentence)), line.code]


def chosen(lines: Sequence[Line], kinds: frozenset[str] | None) -> list[Line]:
    """The lines of these kinds; unreadable messages are never left out."""
    return [line for line in lines if kinds is None or line.kind.value in kinds or line.kind.value == "?"]
