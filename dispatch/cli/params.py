"""How a command says what it takes: a dataclass whose fields are its arguments and flags, each declared once.

@dataclass(frozen=True, slots=True)
class HoldOptions:
    job: str = argument("JOB", complete=job_names)
    now: bool = option("--now", is_flag=True, help="also end the present run")

@command(HoldOptions, changes=True)
def hold(tool: Tool, options: HoldOptions) -> Exit: ...
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from dispatch.cli.catalog import CONTEXT_SETTINGS
from dispatch.cli.word_order import HELP, TAKES_VALUE, verb_first

OptionsT = TypeVar("OptionsT")
Complete = Callable[[click.Context, click.Parameter, str], list[str]]


class DurationType(click.ParamType[float]):
    """Seconds, written with a unit: `10s`, `5m`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401  click's own signature
        """The seconds that the text means."""
        if isinstance(value, int | float):
            return float(value)
        from dispatch.units import parse_duration

        try:
            return float(parse_duration(str(value)))
        except ValueError as error:
            self.fail(f"{error}; write for example 10s or 5m", param, ctx)


DURATION = DurationType()


@dataclass(frozen=True, slots=True)
class GlobalFlags:
    """The flags that every command takes."""

    context: str | None = None
    nats: str | None = None
    creds: str | None = None
    inbox_prefix: str | None = None
    tenant: str | None = None
    cluster: str | None = None
    json: bool = False
    wide: bool = False
    utc: bool = False
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ChangeFlags:
    """The flags of what changes something. `reason` is kept for ever."""

    reason: str = ""
    dry_run: bool = False
    command_id: str | None = None
    yes: bool = False
    confirm: str | None = None


def argument(metavar: str, *, many: bool = False, required: bool = True, complete: Complete | None = None) -> Any:  # noqa: ANN401  a field of the declared type
    """One positional argument, or any number of them."""
    made = {"metavar": metavar, "nargs": -1 if many else 1, "required": required, "shell_complete": complete}
    default: Any = () if many else None
    return dataclasses.field(default=default, metadata={"click": (click.Argument, (), made)})


def option(*names: str, **made: Any) -> Any:  # noqa: ANN401  a field of the declared type
    """One flag, as `click.Option` takes it; `complete=` completes its value.

    The default of a duration is given in seconds, and told in the words that may be typed for it.
    """
    if "complete" in made:
        made["shell_complete"] = made.pop("complete")
    made.setdefault("show_default", bool(made.get("default")) and not made.get("is_flag"))
    default: Any = () if made.get("multiple") else made.get("default", False if made.get("is_flag") else None)
    if made.get("type") is DURATION and default is not None:
        from dispatch.units import exact_duration

        made["default"] = exact_duration(default)
    return dataclasses.field(default=default, metadata={"click": (click.Option, names, made)})


def parameters(options: type) -> list[click.Parameter]:
    """The click parameters that the fields of a dataclass declare."""
    made: list[click.Parameter] = []
    for field in dataclasses.fields(options):
        kind, names, keywords = field.metadata["click"]
        made.append(kind([*names, field.name], **keywords))
    return made


def global_parameters() -> list[click.Parameter]:
    """The flags of `GlobalFlags`."""
    colours = click.Choice(["auto", "always", "never"])
    return [
        click.Option(
            ["--context"], metavar="NAME", help="use this context of the config file", shell_complete=contexts
        ),
        click.Option(
            ["--nats"], metavar="URL", help="servers of the bus, with commas; drops the context's credentials"
        ),
        click.Option(["--creds"], metavar="FILE", help="credentials for --nats"),
        click.Option(["--inbox-prefix"], metavar="P", help="inbox prefix that goes with --creds"),
        click.Option(["--tenant"], metavar="T", help="in whose name"),
        click.Option(
            ["--cluster"],
            metavar="C",
            help="this cluster alone; of a new job, where its file names none",
            shell_complete=clusters,
        ),
        click.Option(["--json"], is_flag=True, help="one JSON document on stdout, errors too"),
        click.Option(["--wide"], is_flag=True, help="cut nothing, show more columns"),
        click.Option(["--utc"], is_flag=True, help="times in UTC"),
        click.Option(["--color"], type=colours, default="auto", help="auto, always or never"),
        click.Option(["-q", "--quiet"], is_flag=True, help="no progress and no hints"),
        click.Option(["-v", "--verbose"], is_flag=True, help="more of what went wrong, tracebacks too"),
        click.Option(
            ["--timeout"],
            type=DURATION,
            metavar="DURATION",
            help="how long to wait: for an answer, 10s if not given, or for what is followed",
        ),
    ]


def change_parameters() -> list[click.Parameter]:
    """The flags of `ChangeFlags`."""
    return [
        click.Option(["--reason"], metavar="TEXT", default="", help="why, 1 to 500 characters, kept for ever"),
        click.Option(["--dry-run"], is_flag=True, help="show the decision, send nothing"),
        click.Option(["--command-id"], metavar="ID", help="repeat the command of this id"),
        click.Option(["-y", "--yes"], is_flag=True, help="answer the question with yes"),
        click.Option(["--confirm"], metavar="NAME", help="the name that would have to be typed"),
    ]


def contexts(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """The contexts whose name begins so."""
    import os

    from dispatch.contexts import ConfigError, contexts_path, read_contexts

    try:
        return [name for name in read_contexts(contexts_path(os.environ)).contexts if name.startswith(begun)]
    except ConfigError:
        return []


def clusters(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """The clusters whose name begins so."""
    from dispatch.cli.completing import cluster_names

    return cluster_names(context, parameter, begun)


class VerbCommand(click.Command):
    """One verb. `--wait` and the like may stand alone: what follows is never taken for their value."""

    alone: tuple[tuple[str, str], ...] = ()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; a flag that may stand alone gets its value here."""
        values = dict(self.alone)
        end = args.index("--") if "--" in args else len(args)
        spelled = [f"{word}={values[word]}" if word in values else word for word in args[:end]]
        return super().parse_args(ctx, spelled + args[end:])


class VerbGroup(click.Group):
    """Several verbs under one word. A flag typed before the verb means what it means behind it."""

    def __init__(self, name: str, verbs: dict[str, click.Command], text: str) -> None:
        super().__init__(name, verbs, help=text, no_args_is_help=True, context_settings=CONTEXT_SETTINGS)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; flags before the verb are moved behind it."""
        if args and args[0].startswith("-") and not HELP & set(args):
            args = verb_first(args, self._take_values() | TAKES_VALUE)
            if args[0].startswith("-"):
                raise click.UsageError(f"{self.name} needs one of {', '.join(self.commands)}", ctx)
        return super().parse_args(ctx, args)

    def _take_values(self) -> set[str]:
        """The flags of its verbs that have a value."""
        options = [each for verb in self.commands.values() for each in verb.params if isinstance(each, click.Option)]
        return {flag for each in options if not each.is_flag for flag in each.opts}


def command(
    options: type[OptionsT],
    *,
    changes: bool = False,
    alone: Sequence[tuple[str, str]] = (),
) -> Callable[[Callable[[Any, OptionsT], int]], click.Command]:
    """A click command from a dataclass and a function of (tool, options) that returns an exit code."""

    def made(function: Callable[[Any, OptionsT], int]) -> click.Command:
        def callback(**values: Any) -> int:  # noqa: ANN401  whatever click parsed
            from dispatch.cli.tool import Tool

            shared = _taken(GlobalFlags, values)
            change = _taken(ChangeFlags, values) if changes else ChangeFlags()
            return function(Tool(shared, change), options(**values))

        text = (function.__doc__ or "").strip()
        built = VerbCommand(
            name=function.__name__.strip("_"),
            callback=callback,
            params=[*parameters(options), *(change_parameters() if changes else []), *global_parameters()],
            help=text,
            context_settings=CONTEXT_SETTINGS,
            short_help=text.partition("\n")[0].rstrip("."),
        )
        built.alone = tuple(alone)
        return built

    return made


FlagsT = TypeVar("FlagsT", GlobalFlags, ChangeFlags)


def _taken(kind: type[FlagsT], values: dict[str, Any]) -> FlagsT:
    return kind(**{field.name: values.pop(field.name) for field in dataclasses.fields(kind)})
