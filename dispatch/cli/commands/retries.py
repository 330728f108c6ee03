"""`dispatch retries`: kill switch, brake and observe mode of a tenant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import VerbGroup, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from dispatch.cli.session import Session
    from dispatch.client import Accepted, Said
    from streams.messages.commands import Command, SetControls


@dataclass(frozen=True, slots=True)
class RetriesOptions:
    """What each of them takes: --cluster is a common flag."""

    every: bool = option("--all-clusters", is_flag=True, help="every cluster of the tenant")


@dataclass(frozen=True, slots=True)
class ObserveOptions:
    """What `observe` takes."""

    every: bool = option("--all-clusters", is_flag=True, help="every cluster of the tenant")
    off: bool = option("--off", is_flag=True, help="end it: retries are committed again")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to change; None leaves a thing as it is.

    `lifts`: one of these is what goes away, wherever it stands if no cluster is named.
    """

    retries: str | None = None
    brake: str | None = None
    observe: bool | None = None
    lifts: tuple[str, ...] = ()


ALLOW = Wanted(retries="on", brake="clear", lifts=("retries-stopped", "brake"))
OBSERVE_NO_MORE = Wanted(observe=False, lifts=("observed",))


def _cluster(tool: Tool, *, every: bool) -> str | None:
    """The cluster that was named by flag; None: none was. Raises CliError (2)."""
    if every and tool.flags.cluster is not None:
        raise CliError("one of --cluster C and --all-clusters is needed, not both", code="bad-usage")
    return tool.flags.cluster


def _ordered(tool: Tool, wanted: Wanted, *, every: bool) -> Exit:
    cluster = _cluster(tool, every=every)
    return tool.run(_set(tool, cluster, replace(wanted, lifts=()) if every else wanted))


@command(RetriesOptions)
def show(tool: Tool, options: RetriesOptions) -> Exit:
    """What stands, by whom and since when, and how many retries wait for it."""
    return tool.run(_show(tool, _cluster(tool, every=options.every)))


@command(RetriesOptions, changes=True)
def stop(tool: Tool, options: RetriesOptions) -> Exit:
    """Commit no retry any more; runs in progress go on."""
    return _ordered(tool, Wanted(retries="off"), every=options.every)


@command(RetriesOptions, changes=True)
def allow(tool: Tool, options: RetriesOptions) -> Exit:
    """Commit retries again, and lift the brake: every stop and brake that stands, or those of --cluster C alone."""
    return _ordered(tool, ALLOW, every=options.every)


@command(ObserveOptions, changes=True)
def observe(tool: Tool, options: ObserveOptions) -> Exit:
    """Decide and show retries, and commit none of them; --off ends it, wherever it stands."""
    return _ordered(tool, OBSERVE_NO_MORE if options.off else Wanted(observe=True), every=options.every)


async def _show(tool: Tool, cluster: str | None) -> Exit:
    from dispatch.cli.fleet import retries_waiting
    from dispatch.cli.looking import controls
    from dispatch.cli.views.controls import control_lines

    async with tool.session() as session:
        found = await controls(session)
        waiting = await retries_waiting(session) if found.by_cluster else ()
    bound = [each for name, each in sorted(found.by_cluster.items()) if cluster is None or name in ("", cluster)]
    times = tool.times()
    lines = [line for each in bound for line in control_lines(each, waiting, times)]
    where = f"for {cluster}" if cluster else "everywhere"
    jobs = [{"job": each.job, "cluster": each.cluster} for each in waiting if cluster in (None, each.cluster)]
    data = {"controls": bound, "number": found.number, "waiting": jobs}
    tool.answer("retries", data, lambda: lines or [f"retries are on {where}; no brake, nothing is only observed"])
    return Exit.DONE


async def _set(tool: Tool, cluster: str | None, wanted: Wanted) -> Exit:
    """One command for each control that is to change."""
    from dispatch.cli import change
    from dispatch.cli.ask import confirm
    from dispatch.cli.looking import controls

    said = change.said(tool)
    async with tool.session() as session:
        standing = (await controls(session)).standing_now(None, tool.times().now)
        places = [each.cluster for each in standing if set(wanted.lifts) & set(each.stands(tool.times().now))]
        if cluster is not None or not places:
            places = [cluster]
        if said.command is not None and len(places) > 1:
            raise CliError(
                "--command-id repeats one command, and several controls stand",
                why=f"they stand on {', '.join(_where(each) for each in places)}",
                do="the same with --cluster C or --all-clusters",
                code="bad-usage",
            )
        orders = {_where(each): _order(session, each, wanted, said) for each in places}
        if tool.change.dry_run:
            return await _dry_run(session, orders)
        if wanted.retries == "off":
            where = _where(cluster)
            confirm(
                tool, f"{tool.settings.where(where)}     stop every retry on {where}? Jobs that end will wait.", where
            )
        for where, order in orders.items():
            tool.screen.hint(f"{tool.settings.where(where)}     retries (command {order.command})")
        told = await change.send_each(session, orders.values(), _answer)
        asked = [replace(each, why=(f"asked for {where}",)) for where, each in zip(orders, told, strict=True)]
        code = change.show(tool, "retries", asked)
        if code in (Exit.DONE, Exit.REFUSED) and (wanted.retries == "on" or wanted.observe is False):
            await _still(session, cluster)
        return code


def _where(cluster: str | None) -> str:
    return cluster or "every cluster"


def _order(session: Session, cluster: str | None, wanted: Wanted, said: Said) -> SetControls:
    from streams.messages.commands import BrakeOrder, Retries, SetControls
    from streams.subjects import CONTROLS

    return SetControls(
        **session.client.fields(CONTROLS, said),
        cluster=cluster,
        retries=Retries(wanted.retries) if wanted.retries else None,
        brake=BrakeOrder(wanted.brake) if wanted.brake else None,
        observe=wanted.observe,
    )


def _answer(order: Command) -> Callable[[Accepted], str]:
    """The line for a change that became an event."""
    from streams.messages.commands import SetControls

    where = _where(order.cluster if isinstance(order, SetControls) else None)

    def accepted(done: Accepted) -> str:
        return f"{where}  accepted #{done.receipt.number}: {done.receipt.sentence}"

    return accepted


async def _still(session: Session, cluster: str | None) -> None:
    """Say what keeps retries though the order was carried out, with the line that lifts it; silent where it is not read."""
    from dispatch.cli.looking import controls
    from projections.status.lifting import lifted_by, scope_of
    from streams.errors import StreamError

    now = session.tool.times().now
    try:
        standing = (await controls(session)).standing_now(cluster, now)
    except StreamError:
        return
    for each in standing:
        for can in lifted_by([each], now):
            session.tool.screen.hint(f"retries on {scope_of(each)} still wait ({each.keeps(now)}) · {can.command}")


async def _dry_run(session: Session, orders: dict[str, SetControls]) -> Exit:
    from dispatch.cli.dry_run import decided
    from dispatch.cli.looking import controls
    from streams.subjects import CONTROLS

    found, read = await controls(session), await session.maybe(CONTROLS)
    verdicts = {where: decided(read.record, each, None, session.client.actor, found) for where, each in orders.items()}
    documents = [{"cluster": orders[where].cluster} | each.document for where, each in verdicts.items()]
    lines = [f"{where}  {each.line}; nothing was sent" for where, each in verdicts.items()]
    session.tool.answer("dry-run", documents[0] if len(documents) == 1 else {"results": documents}, lambda: lines)
    return max(each.exit_code for each in verdicts.values())


retries = VerbGroup(
    "retries",
    {"show": show, "stop": stop, "allow": allow, "observe": observe},
    "Kill switch, brake and observe mode. They bind retries only, never a stop, a cancel or your own orders.",
)
