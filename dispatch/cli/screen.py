"""What a person sees: answers on stdout, progress and hints on stderr, the same text on a terminal and in a pipe.

Only colour, redraws and cuts differ. Colour is never the only sign, and there is one function that paints.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TextIO

WIDTH_MIN, WIDTH_MAX = 80, 100
PAINTS = {"red": "31", "yellow": "33", "green": "32", "bold": "1", "dim": "2"}
_ASCII = str.maketrans(
    {"·": "-", "×": "x", "…": "...", "→": "->", "≤": "<=", "≥": ">=", "“": '"', "”": '"', "—": "-", "–": "-", "✓": "+"}
)


@dataclass(frozen=True, slots=True)
class Screen:
    """Where text goes and how it may look. `width` None: nothing is cut."""

    out: TextIO
    err: TextIO
    colour: bool = False
    width: int | None = None
    unicode: bool = True
    quiet: bool = False
    verbose: bool = False

    def say(self, text: str = "") -> None:
        """A line of the answer."""
        self._write(self.out, text)

    def lines(self, lines: Iterable[str]) -> None:
        """Lines of the answer, written at once."""
        self._write(self.out, "\n".join(lines))

    def hint(self, text: str) -> None:
        """A line beside the answer: progress, a warning, what to do next. Silent with `--quiet`."""
        if not self.quiet:
            self._write(self.err, text)

    def complain(self, text: str) -> None:
        """A line that is never silent."""
        self._write(self.err, text)

    def paint(self, text: str, *paints: str) -> str:
        """The text in colour where colour is wanted, else as it is."""
        codes = ";".join(PAINTS[each] for each in paints if each in PAINTS)
        return f"\x1b[{codes}m{text}\x1b[0m" if self.colour and codes and text else text

    def uncut(self) -> Screen:
        """The same screen, where no line is cut."""
        return replace(self, width=None)

    def _write(self, stream: TextIO, text: str) -> None:
        stream.write(printable(text, unicode=self.unicode, colour=self.colour) + "\n")
        stream.flush()


def printable(text: str, *, unicode: bool, colour: bool) -> str:
    """The text without control characters, and in ASCII where the locale needs it.

    Names, notes and reasons come from others: an escape sequence in one must not reach a terminal.
    """
    kept = "".join(sign if sign >= " " or sign in "\n\t" or (sign == "\x1b" and colour) else "?" for sign in text)
    kept = kept.replace("\x7f", "?")
    return kept if unicode else kept.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def clean(text: str) -> str:
    """Somebody's words on one line, without control characters, whatever they wrote."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def screen_for(color: str, environ: Mapping[str, str], *, quiet: bool = False, verbose: bool = False) -> Screen:
    """The screen of this process: colour and cuts only where a terminal reads."""
    terminal = sys.stdout.isatty()
    colour = color == "always" or (
        color == "auto" and terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    )
    width = None
    if terminal:
        width = min(WIDTH_MAX, max(WIDTH_MIN, shutil.get_terminal_size((WIDTH_MIN, 24)).columns))
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return Screen(sys.stdout, sys.stderr, colour, width, encoding.startswith("utf"), quiet, verbose)


def write_document(schema: str, at: str, body: Mapping[str, object], out: TextIO) -> None:
    """One JSON document: `{"schema", "at", "data" | "error"}`, one line, ASCII."""
    out.write(json.dumps({"schema": schema, "at": at, **body}, separators=(",", ":"), allow_nan=False) + "\n")
    out.flush()


def silence_stdout() -> None:
    """Let the interpreter's own flush at exit find a stream that takes everything: the reader went away."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
