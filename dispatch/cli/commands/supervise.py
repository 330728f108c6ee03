"""`dispatch supervise`: one stateless replica, until SIGTERM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.linux import needs_linux
from dispatch.cli.params import DURATION, command, option
from dispatch.cli.tool import Tool
from dispatch.cli.typed_cluster import takes_none

if TYPE_CHECKING:
    from dispatch.supervise import SuperviseOptions


@dataclass(frozen=True, slots=True)
class SuperviseCommandOptions:
    """What `supervise` takes."""

    name: str | None = option("--name", metavar="R", help="of this replica; default: host, process and a random part")
    clusters: str | None = option(
        "--clusters", metavar="C,…", help="only these; the same for all of a bus; default: all"
    )
    local: str | None = option("--local", metavar="DIR", help="serve the local cluster kept in DIR in this process")
    single: bool = option("--single", is_flag=True, help="allow a bus of one server")
    monitoring: str | None = option("--monitoring", metavar="URL,…", help="HTTP addresses of the servers' monitors")
    observe: bool = option("--observe", is_flag=True, help="follow and show, decide nothing")
    drain: float = option("--drain", type=DURATION, default=20.0, metavar="DURATION", help="bound of an orderly end")
    metrics: str | None = option("--metrics", metavar="ADDR", help="serve Prometheus metrics on HOST:PORT")
    log_json: bool = option("--log-json", is_flag=True, help="log lines as JSON")


@command(SuperviseCommandOptions)
def supervise(tool: Tool, options: SuperviseCommandOptions) -> int:
    """Run one supervisor. Any number share the work; each may be killed at any time. SIGTERM drains it."""
    from dispatch.supervise import SuperviseOptions, configure_logs
    from streams.subjects import is_token

    if options.name is not None and not is_token(options.name):
        raise CliError(f"--name {options.name[:70]!r} is no name", why="1 to 63 of a-z, 0-9 and -", code="bad-usage")
    takes_none(tool, "supervise", why="it would serve every cluster", do=f"--clusters {tool.flags.cluster}")
    address = tool.settings.bus()
    local = options.local
    if local is None and tool.settings.local_dir is not None:
        local = str(tool.settings.local_dir)
    if local is not None:
        needs_linux("dispatch supervise --local")
    settings = SuperviseOptions(
        nats=address.urls,
        creds=str(address.creds) if address.creds else None,
        tls_ca=str(address.tls_ca) if address.tls_ca else None,
        inbox_prefix=address.inbox_prefix,
        monitoring=_words(options.monitoring) or address.monitoring,
        single=options.single or tool.settings.local_dir is not None,
        name=options.name,
        clusters=_words(options.clusters) or None,
        local=local,
        observe=options.observe,
        drain_s=options.drain,
        metrics=options.metrics,
        log_json=options.log_json,
        verbose=tool.flags.verbose,
    )
    configure_logs(settings)
    tool.run(_run(settings))
    return Exit.DONE


async def _run(settings: SuperviseOptions) -> None:
    """Run it to the end of its drain. Raises what ends it otherwise, told as of a start or as of a replica at work."""
    from dispatch.cli.errors import ended
    from dispatch.supervise import ready, work
    from streams.errors import StreamError

    try:
        async with ready(settings) as bus:
            try:
                await work(bus, settings)
            except StreamError as error:
                raise ended("this replica", error) from error
    except ValueError as error:
        raise CliError("this replica cannot run", why=str(error), code="bad-usage") from error


def _words(text: str | None) -> tuple[str, ...]:
    """Words with commas between them."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())
