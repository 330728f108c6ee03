"""Every `dispatch …` line of a document is one that the program takes: pasted at night, it has to work."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from dispatch.cli.main import PROGRAM, verb_first
from tests.tidy.sources import ROOT, files, none_of

SPAN = re.compile(r"`(dispatch [A-Za-z-][^`\n]*)`")
LINE = re.compile(r"^(?: {4,}|\$ )(?:\$ )?(dispatch [a-z-].*)$", re.MULTILINE)
FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
IN_FENCE = re.compile(r"^ *(?:\$ )?(dispatch [a-z-].*)$", re.MULTILINE)
PLACEHOLDERS = {
    "COMMAND": "status",
    "FILE": "job.yaml",
    "JOB": "llama",
    "NAME": "llama",
    "NODE": "n17",
    "OBJECT": "88213",
    "ROLE": "service",
    "rREVISION": "r48219",
}
STANDS_FOR = re.compile(rf"\b({'|'.join(PLACEHOLDERS)})\b")
A_REASON = frozenset(
    {"cancel", "hold", "requeue", "dispose", "attest", "agent gone"}
    | {"retries stop", "retries allow", "retries observe"}
)


def typed(text: str) -> Iterator[tuple[str, bool]]:
    """Every command in a document, and whether it may be only the name of one, as in a sentence."""
    for block in FENCED.findall(text):
        yield from ((line, False) for line in IN_FENCE.findall(block))
    prose = FENCED.sub("", text)
    yield from ((line, False) for line in LINE.findall(prose))
    yield from ((span, True) for span in SPAN.findall(prose))


def wrong(line: str, *, may_be_name: bool) -> str | None:
    """Why the program would not take the line; None if it does."""
    _, *words = shlex.split(STANDS_FOR.sub(lambda found: PLACEHOLDERS[found[0]], line), comments=True)
    if words and words[0] == "--version":
        return None
    words, called = verb_first(words), ""
    command: click.Command = PROGRAM
    try:
        while isinstance(command, click.Group):
            if not words:
                return None if may_be_name else "it names no command"
            found = command.get_command(click.Context(command), words[0])
            if found is None:
                return f"{words[0]} is no command"
            called, command, words = f"{called} {words[0]}".strip(), found, words[1:]
            if isinstance(command, click.Group) and not words:
                return None if may_be_name else f"{called} is several commands"
        return None if may_be_name and not words else _refused(command, called, words)
    except click.exceptions.Exit:
        return None
    except click.BadOptionUsage as error:  # its value is missing: in a sentence, the option's name
        return None if may_be_name else error.format_message()
    except click.UsageError as error:
        return error.format_message()


def _refused(command: click.Command, called: str, words: list[str]) -> str | None:
    values = command.make_context(called, list(words)).params
    if called in A_REASON and not values["reason"]:
        return "--reason is missing"
    if called == "dispose" and sum(values[target] is not None for target in ("object", "attempt", "message")) != 1:
        return "one of OBJECT, --attempt and --message is needed"
    message = values.get("message")
    if message is not None and not re.fullmatch(r"r[0-9]+", message):
        return f"--message {message} is not rREVISION"
    return None


def findings(document: Path) -> Iterator[str]:
    for line, may_be_name in typed(document.read_text()):
        if (why := wrong(line, may_be_name=may_be_name)) is not None:
            yield f"{document.relative_to(ROOT)}: {line}: {why}"


def documents() -> list[Path]:
    return [ROOT / "README.md", *files("docs", endings=(".md",))]


def test_every_command_line_in_a_document_is_one_that_the_program_takes() -> None:
    assert sum(1 for document in documents() for _ in typed(document.read_text())) > 60
    none_of(finding for document in documents() for finding in findings(document))


def test_the_rule_finds_what_the_program_would_not_take() -> None:
    planted = {
        "dispatch dispose JOB OBJECT --as stop": "--reason is missing",
        "dispatch dispose JOB --as stop --reason …": "one of OBJECT, --attempt and --message is needed",
        "dispatch dispose JOB --message REVISION --as ignore --reason …": "--message REVISION is not rREVISION",
        "dispatch retries allow --cluster hpc2": "--reason is missing",
        "dispatch retries lift": "lift is no command",
        "dispatch setup --print-permission supervisor": "No such option",
        "dispatch attest NODE --job JOB --reason …": "Missing option '--is'",
        "dispatch setup --print-permissions ADMIN": "Invalid value",
    }
    for line, why in planted.items():
        assert why in (wrong(line, may_be_name=True) or ""), line


def test_the_rule_takes_placeholders_comments_and_mere_names() -> None:
    taken = ("dispatch why JOB  # what it waits for", "dispatch cancel third --reason x --wait=complete")
    assert [wrong(line, may_be_name=False) for line in taken] == [None, None]
    assert wrong("dispatch retries allow", may_be_name=True) is None
    assert wrong("dispatch setup --print-permissions", may_be_name=True) is None
    assert "requires an argument" in (wrong("dispatch setup --print-permissions", may_be_name=False) or "")
    assert wrong("dispatch retries allow", may_be_name=False) == "--reason is missing"
    text = "Then `dispatch up`:\n\n    dispatch up\n\n```sh\n$ dispatch list\n```\n"
    assert list(typed(text)) == [("dispatch list", False), ("dispatch up", False), ("dispatch up", True)]
