"""`dispatch attest NODE`: a person's word that nothing of a job runs on a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from dispatch.cli.completing import job_names, node_names
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from dispatch.cli.session import Read, Session
    from streams.messages.values import ObjectRef


@dataclass(frozen=True, slots=True)
class AttestOptions:
    """What `attest` takes."""

    node: str = argument("NODE", complete=node_names)
    job: str | None = option("--job", metavar="JOB", complete=job_names, help="the job that waits for it")
    every: bool = option("--all-jobs", is_flag=True, help="every open job that waits for it")
    state: str = option("--is", type=click.Choice(("off", "rebooted")), required=True, help="what you know of the node")


@command(AttestOptions, changes=True)
def attest(tool: Tool, options: AttestOptions) -> Exit:
    """Give your word that a node is off or was rebooted. It is kept with your name, apart from observed proof."""
    if (options.job is None) == (not options.every):
        raise CliError("one of --job JOB and --all-jobs is needed", code="bad-usage")
    return tool.run(_attest(tool, options))


async def _attest(tool: Tool, options: AttestOptions) -> Exit:
    from dispatch.cli import change
    from dispatch.cli.ask import confirm
    from dispatch.cli.orders import Order, carry_out
    from dispatch.cli.typed_cluster import refuse_elsewhere, where_of
    from dispatch.client import OrderFields
    from streams.messages.commands import AttestNodeOff
    from streams.messages.values import NodeAttested

    change.reason_of(tool, required=True)
    async with tool.session() as session:
        reads = [await session.exactly(options.job)] if options.job else await _waiting(session, options.node)
        refuse_elsewhere(tool, reads)
        runs = {read.job: run_waiting(read, options.node) for read in reads}
        waiting = [read for read in reads if runs[read.job] is not None]
        if not waiting:
            where = f" of {tool.flags.cluster}" if tool.flags.cluster is not None else ""
            raise CliError(
                f"nothing waits for node {options.node[:60]!r}{where}", do="dispatch why JOB", code="no-such-object"
            )
        names = ", ".join(read.job for read in waiting)
        if not tool.change.dry_run:
            confirm(
                tool,
                f"{where_of(tool, waiting)}     attest that {options.node} is {options.state}, for {names}?\n"
                "If it is not, two executions may write the same checkpoint at once.",
                options.node,
                typed=True,
            )

        def build(read: Read, fields: OrderFields) -> AttestNodeOff:
            found = runs[read.job]
            assert found is not None
            ref, run = found
            return AttestNodeOff(**fields, node=options.node, state=NodeAttested(options.state), object=ref, run=run)

        return await carry_out(session, waiting, Order("attest", build))


def run_waiting(read: Read, node: str) -> tuple[ObjectRef, int] | None:
    """The oldest run whose death is not proven on that node."""
    from projections.sightings import waiting_nodes

    for ref, held in read.record.objects.items():
        for run in held.unproven:
            if node in waiting_nodes(run):
                return ref, run.run
    return None


async def _waiting(session: Session, node: str) -> list[Read]:
    """Every open job that waits for a proof about that node of one cluster. Raises CliError (2) if several have it."""
    from dispatch.cli.typed_cluster import cluster_of, clusters_of, on_clusters

    typed = session.tool.flags.cluster
    reads = [await session.maybe(name) for name in await session.names()]
    waiting = [
        read
        for read in reads
        if typed in {None, cluster_of(read)} and not read.record.settled and run_waiting(read, node) is not None
    ]
    if len(clusters := clusters_of(waiting)) > 1:
        raise CliError(
            f"{node[:60]!r} is waited for on {len(clusters)} clusters, and each has a node of its own by that name",
            why=on_clusters(waiting),
            do=f"the same with --cluster {' or --cluster '.join(clusters)}",
            code="bad-usage",
        )
    return waiting
