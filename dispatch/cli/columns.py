"""Rows of text as aligned columns; only one column, the one with free text, is ever cut."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

GAP = "  "
FREE_MIN = 12


def cells(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    )


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text filled up to `width` columns."""
    fill = " " * max(0, width - cells(text))
    return fill + text if right else text + fill


def cut(text: str, width: int | None) -> str:
    """The text in at most `width` columns, its end marked `…` if it lost one; whole for None."""
    if width is None or cells(text) <= width:
        return text
    kept = ""
    for sign in text:
        if cells(kept + sign) > width - 1:
            break
        kept += sign
    return kept + "…"


def table(
    rows: Sequence[Sequence[str]], *, free: int, width: int | None, right: frozenset[int] = frozenset()
) -> list[str]:
    """Each row as one line. Column `free` is cut so that a line fits into `width`; `right` ones end flush."""
    if not rows:
        return []
    columns = max(len(row) for row in rows)
    filled = [[*row, *[""] * (columns - len(row))] for row in rows]
    widths = [max(cells(row[column]) for row in filled) for column in range(columns)]
    if width is not None:
        others = sum(widths) - widths[free] + len(GAP) * (columns - 1)
        widths[free] = min(widths[free], max(FREE_MIN, width - others))
    lines = []
    for row in filled:
        parts = [
            pad(cut(text, widths[number]) if number == free else text, widths[number], right=number in right)
            for number, text in enumerate(row)
        ]
        lines.append(GAP.join(parts).rstrip())
    return lines


def flush(left: str, right: str, width: int | None) -> str:
    """`left`, and `right` at the end of the line where there is room; two spaces apart at least."""
    if not right:
        return left
    room = (width or 100) - cells(left) - cells(right)
    return left + " " * max(2, room) + right


def beside(left: str, right: str, width: int | None) -> list[str]:
    """`left` with `right` at the end of its line, or on a line of its own where there is no room."""
    if not right or width is None or cells(left) + 2 + cells(right) <= width:
        return [flush(left, right, width)]
    return [left, right]


def wrapped(label: str, text: str, width: int | None) -> list[str]:
    """A sentence on as many lines as it takes, the first led by `label`, the others indented below it."""
    room = None if width is None else width - cells(label)
    lines: list[str] = []
    current = ""
    for word in text.split(" "):
        longer = f"{current} {word}" if current else word
        if room is not None and current and cells(longer) > room:
            lines.append(current)
            current = word
        else:
            current = longer
    lines.append(current)
    return [(label if number == 0 else " " * cells(label)) + line for number, line in enumerate(lines)]


def wrap_items(label: str, items: Sequence[str], width: int | None, *, joiner: str = " · ") -> list[str]:
    """Items joined on as few lines as fit, the first led by `label`, the others indented below it."""
    lines: list[str] = []
    current = ""
    for item in items:
        longer = f"{current}{joiner}{item}" if current else item
        if current and cells(label) + cells(longer) > (width or 100):
            lines.append(current)
            current = item
        else:
            current = longer
    lines.append(current)
    return [(label if number == 0 else " " * cells(label)) + line for number, line in enumerate(lines)]
