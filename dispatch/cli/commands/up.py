"""`dispatch up`: bus, local cluster and supervisors in one process tree, in the foreground."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.linux import needs_linux
from dispatch.cli.params import command, option
from dispatch.cli.tool import Tool
from dispatch.cli.typed_cluster import takes_none

if TYPE_CHECKING:
    from dispatch.cli.stopping import Left


@dataclass(frozen=True, slots=True)
class UpCommandOptions:
    """What `up` takes."""

    directory: str = option("--dir", default=".dispatch", metavar="DIR", help="where everything is kept")
    slots: int | None = option("--slots", type=click.IntRange(1, 4096), metavar="N", help="ranks at once; processors")
    supervisors: int = option("--supervisors", type=click.IntRange(1, 64), default=1, metavar="N", help="how many")
    port: int = option("--port", type=click.IntRange(0, 65535), default=0, metavar="P", help="of the bus; 0: any free")
    stop_jobs: bool = option("--stop-jobs", is_flag=True, help="at the end cancel the jobs that are still open")


@command(UpCommandOptions)
def up(tool: Tool, options: UpCommandOptions) -> Exit:
    """Run everything on this machine. Ctrl-C drains; jobs run on and are found by the next `up` in this place."""
    needs_linux("dispatch up")
    from dispatch.cli.stopping import cancel_open
    from dispatch.up import UpError, UpOptions
    from dispatch.up import up as run

    settings = UpOptions(
        directory=Path(options.directory),
        slots=options.slots,
        supervisors=options.supervisors,
        port=options.port,
        tenant=tool.flags.tenant or "default",
    )
    takes_none(tool, "up", why="its one cluster is named local", do="the same without --cluster")
    told = Said(tool)
    stopped: list[Left] = []

    async def stop_jobs() -> None:
        stopped.append(await cancel_open(tool, settings.directory))

    try:
        tool.run(run(settings, told.say, stop_jobs if options.stop_jobs else None))
    except UpError as error:
        raise CliError("dispatch up cannot run", why=str(error), code="unsafe-settings") from error
    return _ended(tool, stopped[0] if stopped else None)


def _ended(tool: Tool, left: Left | None) -> Exit:
    """Say what became of the jobs; loudly where it is not what was asked for."""
    if left is None:
        tool.screen.hint("stopped; jobs run on, `dispatch up` in this place finds them")
        return Exit.DONE
    say = tool.screen.hint if left.exit is Exit.DONE else tool.screen.complain
    say(f"stopped; {left.sentence()}")
    return left.exit


@dataclass(slots=True)
class Said:
    """What `up` says as it goes; after the first line it tells what to type next."""

    tool: Tool
    begun: bool = False

    def say(self, text: str) -> None:
        """One line."""
        self.tool.screen.say(text)
        if not self.begun and "live" in text:
            self.begun = True
            self.tool.screen.say("next: dispatch submit job.yaml --wait     Ctrl-C stops this, not the jobs")
