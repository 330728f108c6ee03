"""`dispatch agent local|gone`: serve one cluster over the bus, next to its scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.linux import needs_linux
from dispatch.cli.params import DURATION, VerbGroup, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from dispatch.agent import AgentOptions
    from streams.jetstream.settings import BusSettings

CALLS = 8


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """What `agent local` takes; --cluster is a shared flag."""

    directory: str = option("--dir", default=".dispatch-agent", metavar="DIR", help="where the cluster is kept")
    slots: int | None = option("--slots", type=click.IntRange(1, 4096), metavar="N", help="ranks at once; processors")
    max_calls: int = option("--max-calls", type=click.IntRange(1, 64), default=CALLS, metavar="N", help="calls at once")
    drain: float = option("--drain", type=DURATION, default=20.0, metavar="DURATION", help="bound of an orderly end")
    metrics: str | None = option("--metrics", metavar="ADDR", help="serve Prometheus metrics on HOST:PORT")
    log_json: bool = option("--log-json", is_flag=True, help="log lines as JSON")


@dataclass(frozen=True, slots=True)
class GoneOptions:
    """What `agent gone` takes."""

    directory: str = option("--dir", default=".dispatch-agent", metavar="DIR", help="where its clock is kept")
    metrics: str | None = option("--metrics", metavar="ADDR", help="serve Prometheus metrics on HOST:PORT")
    log_json: bool = option("--log-json", is_flag=True, help="log lines as JSON")


@command(LocalOptions)
def local(tool: Tool, options: LocalOptions) -> Exit:
    """Serve this machine as a cluster of local processes."""
    needs_linux("dispatch agent local")
    from dispatch.agent import AgentOptions

    return _served(
        tool,
        AgentOptions(
            cluster=_cluster(tool, "local"),
            directory=Path(options.directory),
            slots=options.slots,
            max_calls=options.max_calls,
            drain_s=options.drain,
            metrics=options.metrics,
        ),
        log_json=options.log_json,
    )


@command(GoneOptions, changes=True)
def gone(tool: Tool, options: GoneOptions) -> Exit:
    """Answer for a cluster that no longer exists: your word that nothing of it is left, kept with your name."""
    from dispatch.agent import AgentOptions
    from dispatch.cli import change
    from dispatch.cli.ask import confirm

    reason = change.reason_of(tool, required=True)
    cluster = _cluster(tool, None)
    if tool.change.dry_run:
        sentence = f"would answer for {cluster} as gone, by {tool.settings.actor}'s word"
        told = {"answer": "accepted", "event": None, "number": None, "code": None, "sentence": sentence}
        tool.answer("dry-run", told, lambda: [f"{sentence}; nothing was sent, and nothing is served"])
        return Exit.DONE
    confirm(
        tool,
        f"{tool.settings.where(cluster)}     answer for {cluster} as gone?\n"
        "Every job on it is taken as dead; if one is not, two executions may write the same checkpoint at once.",
        cluster,
        typed=True,
    )
    tool.screen.hint(f"{tool.settings.where(cluster)}     answer for {cluster} as gone")
    by = tool.settings.actor
    served = AgentOptions(
        cluster=cluster, directory=Path(options.directory), metrics=options.metrics, attested_by=by, reason=reason
    )
    return _served(tool, served, log_json=options.log_json)


def _cluster(tool: Tool, default: str | None) -> str:
    """The cluster that is served: named by flag, never taken from the context in silence."""
    from streams.subjects import is_token

    cluster = tool.flags.cluster or default
    if cluster is None or not is_token(cluster):
        raise CliError("--cluster C is needed: which cluster is served", code="bad-usage")
    return cluster


def _served(tool: Tool, options: AgentOptions, *, log_json: bool) -> Exit:
    from dispatch.cli.errors import ended
    from dispatch.cli.session import bus_settings
    from dispatch.supervise import SuperviseOptions, configure_logs
    from streams.errors import BusClosedError

    configure_logs(SuperviseOptions(nats=(), log_json=log_json, verbose=tool.flags.verbose))
    settings = bus_settings(tool.settings, name=f"dispatch-agent {options.cluster}")
    try:
        tool.run(_until_told(tool, settings, options))
    except BusClosedError as error:
        raise ended("this agent", error) from error
    except ValueError as error:
        raise CliError("the agent cannot serve", why=str(error), code="bad-settings") from error
    return Exit.DONE


async def _until_told(tool: Tool, settings: BusSettings, options: AgentOptions) -> None:
    """Serve until SIGINT or SIGTERM."""
    import asyncio
    import signal

    from dispatch.agent import serve

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await serve(settings, options, tool.screen.say, stop)


agent = VerbGroup(
    "agent",
    {"local": local, "gone": gone},
    "Serve one cluster over the bus, next to its scheduler, as the job owner's account.",
)
