"""`dispatch release JOB`: lift holds made through dispatch."""

from __future__ import annotations

from dataclasses import dataclass

from dispatch.cli.completing import job_names
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool


@dataclass(frozen=True, slots=True)
class ReleaseOptions:
    """What `release` takes."""

    jobs: tuple[str, ...] = argument("JOB…", many=True, required=False, complete=job_names)
    labels: tuple[str, ...] = option(
        "-l", "--label", multiple=True, metavar="K=V", help="every open job with this label"
    )
    instances: tuple[str, ...] = option("--instance", multiple=True, metavar="N", help="only this hold")
    every: bool = option("--all", is_flag=True, help="also holds that a rule of the plan placed")


@command(ReleaseOptions, changes=True)
def release(tool: Tool, options: ReleaseOptions) -> Exit:
    """Lift the holds that people asked for; --all also those of rules; --instance one of them."""
    if options.instances and options.every:
        raise CliError("one of --instance and --all", code="bad-usage")
    return tool.run(_release(tool, options))


async def _release(tool: Tool, options: ReleaseOptions) -> Exit:
    from dispatch.cli.orders import Order, order_jobs
    from dispatch.cli.session import Read
    from dispatch.client import OrderFields
    from streams.messages.commands import ReleaseJob

    def build(read: Read, fields: OrderFields) -> ReleaseJob:
        every = tuple(hold.instance for hold in read.record.in_force) if options.every else ()
        return ReleaseJob(**fields, instances=options.instances or every)

    return await order_jobs(tool, options.jobs, options.labels, Order("release", build, needs_reason=False))
