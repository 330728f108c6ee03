"""What is wrong with a job file, and the words for it.

JobFileError    one or more mistakes; `str()` is what a person reads
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from streams.messages.checks import brief

SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong. `path` is `recovery[1].do`, "" for the whole file.

    `line` is None for a value given by `--set` (`by_set`) and for what has no line.
    """

    path: str
    line: int | None
    what: str
    fix: str = ""
    by_set: bool = False

    @property
    def place(self) -> str:
        """`line 8`, `--set`, or nothing."""
        if self.by_set:
            return "--set"
        return "" if self.line is None else f"line {self.line}"

    @property
    def sentence(self) -> str:
        """`time_limit: 24 has no unit`."""
        return brief(f"{self.path}: {self.what}" if self.path else self.what)

    @property
    def told(self) -> str:
        """All of it in one line: `line 8: time_limit: 24 has no unit; write 24h`."""
        place = f"{self.place}: " if self.place else ""
        return f"{place}{self.sentence}" + (f"; {self.fix}" if self.fix else "")


class JobFileError(ValueError):
    """Nothing may be sent. Carries every mistake, in the order of the file."""

    def __init__(self, source: str, mistakes: Iterable[Mistake]) -> None:
        self.source = source
        self.mistakes = tuple(sorted(mistakes, key=lambda each: (each.line is None, each.line or 0, each.path)))
        super().__init__(self.text())

    def text(self) -> str:
        """One line for one mistake; else a line each, columns aligned, what to do in the last."""
        if len(self.mistakes) == 1:
            return self._one(self.mistakes[0])
        shown = self.mistakes[:SHOWN_MAX]
        digits = max(len(str(each.line or "")) for each in shown)
        places = [f"line {each.line:>{digits}}" if each.line is not None else each.place for each in shown]
        left = max(map(len, places))
        middle = min(max(len(each.sentence) for each in shown), 52)
        lines = [f"{self.source} has {len(self.mistakes)} mistakes; nothing was sent (exit 2)"]
        for place, each in zip(places, shown, strict=True):
            lines.append(f"  {place:<{left}}  {each.sentence:<{middle}}  {each.fix}".rstrip())
        if len(self.mistakes) > SHOWN_MAX:
            lines.append(f"  and {len(self.mistakes) - SHOWN_MAX} more")
        return "\n".join(lines)

    def _one(self, mistake: Mistake) -> str:
        place = f" {mistake.place}" if mistake.place else ""
        field = f", {brief(mistake.path)}" if mistake.path else ""
        fix = f"; {mistake.fix}" if mistake.fix else ""
        return f"{self.source}{place}{field}: {brief(mistake.what)}{fix} (exit 2)"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, if one is like it at all; `_` and `-` are one sign here."""
    plain = {each.replace("-", "_").lower(): each for each in known}
    close = get_close_matches(name.replace("-", "_").lower(), plain, n=1, cutoff=0.6)
    return plain[close[0]] if close else None
