"""The one question: asked plainly, once, and only before what cannot be undone.

A script is never left hanging: without a terminal and without `--yes` or `--confirm` nothing is sent, exit 2.
"""

from __future__ import annotations

import shlex
import sys

from dispatch.cli.errors import CliError
from dispatch.cli.tool import Tool


def confirm(tool: Tool, question: str, name: str, *, typed: bool = False) -> None:
    """Return if the question may count as answered with yes; else raise CliError (2). Nothing was sent yet.

    The question says where it acts (`prod · nlp @ hpc2`): with `--quiet` nothing else does.
    `typed`, and any context with `protect`: the name itself has to be typed, or given with `--confirm`.
    """
    if typed or tool.settings.protect:
        _typed(tool, question, name)
    elif not tool.change.yes:
        if not sys.stdin.isatty():
            raise CliError(
                "this asks a question, and nobody is there to answer; nothing was sent",
                why=question.splitlines(),
                do="the same with --yes",
                code="no-answer",
            )
        if _answer(f"{question} [y/N] ").lower() not in {"y", "yes"}:
            raise CliError("not confirmed; nothing was sent", code="not-confirmed")


def _typed(tool: Tool, question: str, name: str) -> None:
    given = tool.change.confirm
    if given is None:
        if not sys.stdin.isatty():
            raise CliError(
                "the name has to be typed, and nobody is there to type it; nothing was sent",
                why=question.splitlines(),
                do=f"the same with --confirm {shlex.quote(name)}",
                code="no-answer",
            )
        given = _answer(f"{question}\ntype {name}: ")
    if given != name:
        raise CliError(
            f"{given[:70]!r} is not {name!r}; nothing was sent", do=f"type it as it is: {name}", code="not-confirmed"
        )


def _answer(prompt: str) -> str:
    """One line from the terminal; the prompt goes to stderr, so that stdout holds the answer only."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return sys.stdin.readline().strip()
