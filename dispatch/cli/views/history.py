"""`dispatch history`: every event as a sentence, with who and the code."""

from __future__ import annotations

from collections.abc import Sequence

from dispatch.cli.screen import clean
from dispatch.cli.times import Times
from projections.timeline import Line


def row(times: Times, line: Line) -> list[str]:
    """Number, time, kind, who, sentence, code."""
    return [str(line.number), times.at(line.at), line.kind.value, *_words(times, line)]


def full_row(times: Times, line: Line) -> list[str]:
    """With the bus revision and the event's id."""
    return [*row(times, line), f"r{line.revision}", line.id or "-"]


def live_row(times: Times, line: Line) -> list[str]:
    """Time, number, kind, sentence, code: an event as it happens."""
    _, sentence, code = _words(times, line)
    return [times.at(line.at), f"{f'#{line.number}':<4}", f"{line.kind.value:<8}", sentence, code]


def _words(times: Times, line: Line) -> list[str]:
    return [clean(line.who), clean(times.local(line.sentence)), line.code]


def chosen(lines: Sequence[Line], kinds: frozenset[str] | None) -> list[Line]:
    """The lines of these kinds; unreadable messages are never left out."""
    return [line for line in lines if kinds is None or line.kind.value in kinds or line.kind.value == "?"]
