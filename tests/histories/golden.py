"""The golden histories: read by name, as entries or as the bytes that were first written. Never edited."""

from __future__ import annotations

from pathlib import Path

from projections import jsonl
from streams.messages.events import Entry

FOLDER = Path(__file__).parent
LAWFUL = tuple(sorted(path.stem for path in (FOLDER / "lawful").glob("*.jsonl")))
BROKEN = {path.stem: path.stem.partition("-")[0].upper() for path in sorted((FOLDER / "broken").glob("*.jsonl"))}


def path_of(name: str) -> Path:
    """Where a golden history lies; KeyError if there is none of that name."""
    return {path.stem: path for path in FOLDER.glob("*/*.jsonl")}[name]


def history(name: str) -> tuple[Entry, ...]:
    """The entries of one golden history."""
    return jsonl.load(path_of(name).read_bytes())
