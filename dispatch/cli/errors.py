"""Every error that a command can end with, in one form: what happened, why, what to do, a stable code."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dispatch.cli.exits import Exit, exit_of


class CliError(Exception):
    """What a person reads. `why` and `do` may have several lines. `exit_code` follows from the code."""

    def __init__(
        self,
        what: str,
        *,
        why: str | Sequence[str] = (),
        do: str | Sequence[str] = (),
        code: str,
        exit_code: int | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.why = (why,) if isinstance(why, str) and why else tuple(why)
        self.do = (do,) if isinstance(do, str) and do else tuple(do)
        self.code = code
        self.exit_code = Exit(exit_code) if exit_code is not None else exit_of(code)

    def lines(self) -> list[str]:
        """The error as it is printed."""
        told = [f"error: {self.what}"]
        for label, lines in (("why", self.why), ("do", self.do)):
            told += [f"  {label if number == 0 else '':<4}  {line}" for number, line in enumerate(lines)]
        return [*told, f"  code  {self.code} (exit {int(self.exit_code)})"]

    def document(self) -> dict[str, object]:
        """The error as a program reads it."""
        return {
            "code": self.code,
            "exit": int(self.exit_code),
            "what": self.what,
            "why": list(self.why),
            "do": list(self.do),
        }


class PlainError(CliError):
    """An error whose text is complete: the list of mistakes in a job file."""

    def lines(self) -> list[str]:
        """The text, led by `error:`."""
        return [f"error: {self.what}"]


def told(error: Exception) -> CliError | None:
    """The error as a person should read it, or None: then it is a fault of dispatch itself."""
    if isinstance(error, CliError):
        return error
    for translate in (_of_usage, _of_settings, _of_streams, _of_client, _of_files):
        found = translate(error)
        if found is not None:
            return found
    return None


CLAIMS = ("; nothing was sent", "; nothing was stored")


def after_sending(found: CliError, *left: str) -> CliError:
    """The same error where something had been sent before. `left`: what stands of it.

    It never says that nothing was sent; and what would be exit 6, which promises that, is exit 7.
    """
    lost = found.exit_code is Exit.UNREACHABLE
    return CliError(
        _unclaimed(found.what),
        why=(*found.why, *left),
        do=found.do,
        code="bus-lost" if lost else found.code,
        exit_code=exit_of("bus-lost") if lost else found.exit_code,
    )


def ended(who: str, error: Exception) -> CliError:
    """What ended `who`, such as `this agent`, after it had served for a while: it sent whatever it sent."""
    found = told(error)
    assert found is not None
    what = f"{who} has ended: {_unclaimed(found.what)}"
    return CliError(what, why=found.why, do=("start it again", *found.do), code=found.code, exit_code=found.exit_code)


def _unclaimed(what: str) -> str:
    """The sentence without the claim that nothing was sent."""
    for claim in CLAIMS:
        what = what.removesuffix(claim)
    return what


def _of_usage(error: Exception) -> CliError | None:
    import click

    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "dispatch"
        return CliError(error.format_message(), do=f"{path} --help", code="bad-usage")
    if isinstance(error, click.ClickException):
        return CliError(error.format_message(), code="bad-usage")
    return None


def _of_settings(error: Exception) -> CliError | None:
    from dispatch.contexts import ConfigError
    from dispatch.jobfile.mistakes import JobFileError

    if isinstance(error, ConfigError):
        return CliError(error.what, why=error.why, do=error.do, code=error.code)
    if isinstance(error, JobFileError):
        return PlainError(
            str(error), why=[f"{each.place} {each.sentence}".strip() for each in error.mistakes], code="bad-job-file"
        )
    return None


def _of_files(error: Exception) -> CliError | None:
    """A file or directory of the person's that nobody else told of. Without its name it is a fault of ours."""
    if not isinstance(error, OSError) or not isinstance(error.filename, str | bytes | os.PathLike):
        return None
    return CliError(
        f"{os.fsdecode(error.filename)} cannot be used", why=error.strerror or str(error), code="unusable-path"
    )


def _of_client(error: Exception) -> CliError | None:
    from dispatch.client import CommandIdUsedError

    if not isinstance(error, CommandIdUsedError):
        return None
    return CliError(
        f"{error}; nothing was sent",
        why="a command id repeats one command of one job",
        do=("the same without --command-id", f"dispatch history {error.receipt.job} --only command"),
        code="command-id-used",
    )


def _of_streams(error: Exception) -> CliError | None:
    from streams import errors

    match error:
        case errors.NotPermittedError():
            return CliError(
                "the credentials do not allow this",
                why=str(error),
                do="dispatch context show     whose credentials they are and where they came from",
                code="not-permitted",
            )
        case errors.BusUnreachableError():
            return CliError(
                "the bus does not answer; nothing was sent",
                why=str(error),
                do="dispatch context show     which servers, and where they came from",
                code="bus-unreachable",
            )
        case errors.SettingsError():
            return CliError(
                "the bus is not set as safety needs; nothing was sent",
                why=error.differences,
                do="dispatch doctor bus       every difference and what to change",
                code="unsafe-settings",
            )
        case errors.WrongStreamError():
            return CliError("this history was replaced by a newer one", why=str(error), code="older-generation")
        case errors.TooLargeError():
            return CliError(
                "this is larger than the bus takes; nothing was stored", why=str(error), code="message-too-large"
            )
        case errors.StreamFullError():
            return CliError("the bus is full; nothing was stored", why=str(error), code="bus-full")
        case errors.UndecidedError():
            return CliError("no answer in time; it may take effect", why=str(error), code="undecided")
        case errors.CodecError():
            return CliError(str(error), code="bad-command")
        case _:
            return None
