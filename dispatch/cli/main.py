"""The `dispatch` program: find the verb, run it, and end with one error form and one exit code.

Importing this module must stay cheap: `dispatch --help` answers within a few times Python's own start.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

import click

from dispatch.cli import sent, word_order
from dispatch.cli.catalog import CATALOG, CONTEXT_SETTINGS, HELP_COLUMNS_MAX, VERBS


class Verbs(click.Group):
    """Every verb, each imported when it is typed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # called: by click
        """The verbs in the order of the help page."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # called: by click
        """The verb's command, its module imported now; None for a word that is no verb."""
        if cmd_name not in VERBS:
            return None
        from importlib import import_module

        module = import_module(f"dispatch.cli.commands.{VERBS[cmd_name][0]}")
        found = getattr(module, f"{cmd_name}_" if cmd_name == "list" else cmd_name)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was typed; an unknown one is told with the nearest."""
        if args[0] in VERBS:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        near = get_close_matches(args[0], VERBS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise click.UsageError(f"no command is named {args[0][:60]!r}{hint}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # called: by click
        """The verbs by what they are for."""
        for title, commands in CATALOG.items():
            with formatter.section(title):
                formatter.write_dl([(verb, line) for verb, _, line in commands])


PROGRAM = Verbs(
    name="dispatch",
    help="An event-sourced supervisor of multi-node training jobs. Stopping this tool never stops a job.",
    epilog="Every command: dispatch COMMAND --help. Without a bus on this machine yet: dispatch up.",
    no_args_is_help=True,
    context_settings=CONTEXT_SETTINGS,
)


def verb_first(words: Sequence[str]) -> list[str]:
    """The words with flags that were typed before the verb moved to the end, where they belong.

    `--version` is what people type at a tool they do not know yet: the verb of that name.
    """
    if words and words[0] == "--version":
        return ["version", *words[1:]]
    return word_order.verb_first(words)


def help_width() -> int:
    """Columns of a help page. Click would ask `shutil`, whose import is a sixth of the time that `--help` takes."""
    try:
        columns = int(os.environ.get("COLUMNS", "0"))
    except ValueError:
        columns = 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else -1).columns
        except (OSError, ValueError):
            columns = 80
    return max(50, min(columns, HELP_COLUMNS_MAX) - 2)


def run(words: Sequence[str]) -> int:
    """Run one command line; its exit code. Everything that may be printed was printed."""
    sent.forget()
    try:
        _check_text(words)
        code = PROGRAM.main(
            args=verb_first(words), prog_name="dispatch", standalone_mode=False, terminal_width=help_width()
        )
        sys.stdout.flush()
        return int(code or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        sys.stderr.write(error.format_message() + "\n")
        return 2
    except (KeyboardInterrupt, click.Abort):
        return _interrupted()
    except BrokenPipeError:
        from dispatch.cli.screen import silence_stdout

        silence_stdout()
        return 0
    except Exception as error:  # any: the last place; whatever it is, it is told in one form
        from dispatch.cli.ending import end_with

        return end_with(error, verb_first(words))


def _check_text(words: Sequence[str]) -> None:
    """Refuse a word that is no text in this locale's encoding: it could neither be sent nor shown. Raises CliError."""
    for word in words:
        if not word.isprintable() and any("\ud800" <= sign <= "\udfff" for sign in word):
            from dispatch.cli.errors import CliError

            raise CliError(
                f"{word[:40]!a} is no text in {sys.getfilesystemencoding().upper()}",
                why="the terminal, or the script, writes another encoding than the locale names",
                do="the same in that encoding; locale charmap says which it is",
                code="bad-usage",
            )


def _interrupted() -> int:
    sys.stderr.write(f"interrupted; {sent.left()}\n")
    return 130


def _terminated(_number: int, _frame: object) -> None:
    """SIGTERM ends this tool and nothing else; what serves (`up`, `supervise`, `agent`) drains instead."""
    sys.stderr.write(f"terminated; {sent.left()}\n")
    sys.exit(143)


def main() -> None:
    """The program's entry point."""
    if "_DISPATCH_COMPLETE" in os.environ:
        PROGRAM.main(prog_name="dispatch")
    from dispatch.packages import ForeignPackageError, check_packages

    try:
        check_packages()
    except ForeignPackageError as error:
        sys.stderr.write(f"error: {error}\n  code  foreign-package (exit 1)\n")
        sys.exit(1)
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
