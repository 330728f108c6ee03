"""How a command line ends that did not go well: one error form, or the report of a fault of dispatch itself."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from dispatch.cli import sent
from dispatch.cli.catalog import VERBS
from dispatch.cli.errors import CliError, after_sending, told
from dispatch.cli.exits import Exit
from dispatch.cli.main import verb_first
from dispatch.cli.screen import screen_for, write_document


def end_with(error: Exception, words: Sequence[str]) -> int:
    """Print the error in its form, as a document with `--json`; the exit code. No address is shown with its password.

    Where something was sent before, it says what of that stands, and never that nothing was sent.
    """
    from streams.addresses import without_secrets

    found = told(error) or _fault(error, words)
    if sent.anything():
        found = after_sending(found, sent.left())
    colour = _value_of("--color", words) or "auto"
    screen = screen_for(colour, os.environ, verbose="-v" in words or "--verbose" in words)
    if "--json" in words:
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        document = {key: _cleaned(value) for key, value in found.document().items()}
        write_document(f"dispatch.{_verb(words) or 'dispatch'}/1", at, {"error": document}, sys.stdout)
        return int(found.exit_code)
    first, *rest = map(without_secrets, found.lines())
    screen.complain(screen.paint("error:", "red") + first.removeprefix("error:"))
    for line in rest:
        screen.complain(line)
    if screen.verbose:
        screen.complain(without_secrets("".join(traceback.format_exception(error))).rstrip())
    return int(found.exit_code)


def _cleaned(value: object) -> object:
    """Text, and lists of it, without the user and password of any address."""
    from streams.addresses import without_secrets

    match value:
        case str():
            return without_secrets(value)
        case list():
            return [_cleaned(each) for each in value]
        case _:
            return value


def _verb(words: Sequence[str]) -> str:
    """The verb that was typed; "" where none was, so that a flag's value is never taken for one."""
    typed = verb_first(words)
    return typed[0] if typed and typed[0] in VERBS else ""


def _value_of(flag: str, words: Sequence[str]) -> str | None:
    for number, word in enumerate(words):
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
        if word == flag and number + 1 < len(words):
            return words[number + 1]
    return None


def _fault(error: Exception, words: Sequence[str]) -> CliError:
    """A fault of dispatch itself, with the place of its report. The report holds no argument: those may be secret."""
    from streams.addresses import without_secrets

    text = without_secrets("".join(traceback.format_exception(error)))
    why = [f"{type(error).__name__}: {str(error)[:200]}"]
    try:
        folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "dispatch"
        folder.mkdir(parents=True, exist_ok=True)
        report = folder / f"report-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.txt"
        report.write_text(f"dispatch {_verb(words)}\n{text}", encoding="utf-8")
        why.append(f"the report lies in {report}")
    except OSError:
        why += text.rstrip().splitlines()[-4:]
    return CliError("dispatch met a fault of its own", why=why, code="internal", exit_code=Exit.FAULT)
