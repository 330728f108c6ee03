"""`dispatch hold JOB`: no further run starts."""

from __future__ import annotations

from dataclasses import dataclass

from dispatch.cli.completing import job_names
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool


@dataclass(frozen=True, slots=True)
class HoldOptions:
    """What `hold` takes."""

    jobs: tuple[str, ...] = argument("JOB…", many=True, required=False, complete=job_names)
    labels: tuple[str, ...] = option(
        "-l", "--label", multiple=True, metavar="K=V", help="every open job with this label"
    )
    instance: str | None = option("--instance", metavar="N", help="a name for this hold; default: the command's id")
    now: bool = option("--now", is_flag=True, help="also end the present run, where the cluster can")


@command(HoldOptions, changes=True)
def hold(tool: Tool, options: HoldOptions) -> Exit:
    """Start no further run of the job. A run in progress goes on; --now also ends it."""
    return tool.run(_hold(tool, options))


async def _hold(tool: Tool, options: HoldOptions) -> Exit:
    from dispatch.cli.orders import Order, order_jobs
    from streams.messages.commands import HoldJob

    order = Order("hold", lambda _, fields: HoldJob(**fields, instance=options.instance, now=options.now))
    return await order_jobs(tool, options.jobs, options.labels, order)
