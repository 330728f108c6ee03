"""`dispatch requeue JOB`: a person's order to run again."""

from __future__ import annotations

from dataclasses import dataclass

from dispatch.cli.completing import job_names
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool


@dataclass(frozen=True, slots=True)
class RequeueOptions:
    """What `requeue` takes."""

    jobs: tuple[str, ...] = argument("JOB…", many=True, required=False, complete=job_names)
    labels: tuple[str, ...] = option(
        "-l", "--label", multiple=True, metavar="K=V", help="every open job with this label"
    )
    resubmit: bool = option("--resubmit", is_flag=True, help="a new submission instead of the same object")


@command(RequeueOptions, changes=True)
def requeue(tool: Tool, options: RequeueOptions) -> Exit:
    """Run the job again by your order; no rule's budget is used. A run in progress is ended first."""
    return tool.run(_requeue(tool, options))


async def _requeue(tool: Tool, options: RequeueOptions) -> Exit:
    from dispatch.cli.orders import Order, described, order_jobs
    from dispatch.cli.session import Read
    from dispatch.cli.times import Times
    from dispatch.client import OrderFields
    from projections.status.state import running_run
    from streams.messages.commands import RequeueJob

    def build(read: Read, fields: OrderFields) -> RequeueJob:
        held = read.record.canonical()
        return RequeueJob(**fields, run=held.run if held is not None else 0, resubmit=options.resubmit)

    def asks(read: Read, times: Times) -> str | None:
        if running_run(read.record) is None:
            return None
        return f"requeue {described(read, times)}? Its run is ended."

    return await order_jobs(tool, options.jobs, options.labels, Order("requeue", build, asks))
