"""`dispatch retries`: kill switch, brake and observe mode of a tenant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dispatch.cli.exits import Exit
from dispatch.cli.params import VerbGroup, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from dispatch.cli.session import Session
    from dispatch.cli.times import Times
    from projections.controls import Control
    from streams.messages.commands import SetControls


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
    """What is to change; None leaves a thing as it is."""

    retries: str | None = None
    brake: str | None = None
    observe: bool | None = None


def _cluster(tool: Tool, *, every: bool) -> str | None:
    """The cluster that was named by flag; None: all of them."""
    return None if every else tool.flags.cluster


@command(RetriesOptions)
def show(tool: Tool, options: RetriesOptions) -> Exit:
    """What stands, by whom and since when."""
    return tool.run(_show(tool, _cluster(tool, every=options.every)))


@command(RetriesOptions, changes=True)
def stop(tool: Tool, options: RetriesOptions) -> Exit:
    """Commit no retry any more; runs in progress go on."""
    return tool.run(_set(tool, _cluster(tool, every=options.every), Wanted(retries="off")))


@command(RetriesOptions, changes=True)
def allow(tool: Tool, options: RetriesOptions) -> Exit:
    """Commit retries again, and lift the brake."""
    return tool.run(_set(tool, _cluster(tool, every=options.every), Wanted(retries="on", brake="clear")))


@command(ObserveOptions, changes=True)
def observe(tool: Tool, options: ObserveOptions) -> Exit:
    """Decide and show retries, and commit none of them; --off ends it."""
    return tool.run(_set(tool, _cluster(tool, every=options.every), Wanted(observe=not options.off)))


async def _show(tool: Tool, cluster: str | None) -> Exit:
    from dispatch.cli.looking import controls

    async with tool.session() as session:
        found = await controls(session)
    standing = [each for name, each in sorted(found.by_cluster.items()) if cluster in (None, name)]
    times = tool.times()
    lines = [line for each in standing for line in _lines(each, times)]
    data = {"controls": standing, "number": found.number}
    tool.answer("retries", data, lambda: lines or ["retries are on everywhere; no brake, nothing is only observed"])
    return Exit.DONE


def _lines(control: Control, times: Times) -> list[str]:
    """One line for each thing that stands for a cluster."""
    where = f"on {control.cluster}" if control.cluster else "on every cluster"
    flag = f" --cluster {control.cluster}" if control.cluster else " --all-clusters"
    note = f' "{control.note}"' if control.note else ""
    who = f"{control.set_by} #{control.number}{note}"
    lines = []
    if not control.retries:
        lines.append(
            f"retries stopped {where} since {times.at(control.set_at)} by {who} · dispatch retries allow{flag}"
        )
    if control.brake_until_at is not None and control.brake_until_at > times.now:
        why = control.brake_cause or "many jobs ended at once"
        until = times.at(control.brake_until_at)
        lines.append(f"brake {where} until {until}: {why}, retries wait · dispatch retries allow{flag}")
    if control.observe:
        lines.append(
            f"observing {where} since {times.at(control.set_at)} by {who} · dispatch retries observe --off{flag}"
        )
    return lines or [f"{control.cluster or 'every cluster'}: retries are on"]


async def _set(tool: Tool, cluster: str | None, wanted: Wanted) -> Exit:
    from dispatch.cli import change
    from dispatch.cli.ask import confirm
    from dispatch.client import Accepted
    from streams.messages.commands import BrakeOrder, Retries, SetControls
    from streams.subjects import CONTROLS

    said = change.said(tool)
    where = cluster or "every cluster"
    async with tool.session() as session:
        order = SetControls(
            **session.client.fields(CONTROLS, said),
            cluster=cluster,
            retries=Retries(wanted.retries) if wanted.retries else None,
            brake=BrakeOrder(wanted.brake) if wanted.brake else None,
            observe=wanted.observe,
        )
        if tool.change.dry_run:
            return await _dry_run(tool, session, order)
        tool.screen.hint(f"{tool.settings.where(cluster)}     retries (command {order.command})")
        if wanted.retries == "off":
            confirm(tool, f"stop every retry on {where}? Jobs that end will wait.", where)

        def accepted(done: Accepted) -> str:
            return f"{where}  accepted #{done.receipt.number}: {done.receipt.sentence}"

        return change.show(tool, "retries", [await change.send(session, order, accepted)])


async def _dry_run(tool: Tool, session: Session, order: SetControls) -> Exit:
    from dispatch.cli.looking import controls
    from dispatch.decide import Facts, Refused, decide
    from dispatch.identity import now
    from projections.record import Record

    facts = Facts(now=now(), controls=await controls(session), actor=session.client.actor)
    answer = decide(Record(tenant=session.tenant, job=order.job), order, facts)
    refused = isinstance(answer, Refused)
    line = f"would be refused: {answer.sentence}" if isinstance(answer, Refused) else "would be accepted"
    tool.answer("dry-run", {"answer": "refused" if refused else "accepted"}, lambda: [f"{line}; nothing was sent"])
    return Exit.REFUSED if refused else Exit.DONE


retries = VerbGroup(
    "retries",
    {"show": show, "stop": stop, "allow": allow, "observe": observe},
    "Kill switch, brake and observe mode. They bind retries only, never a stop, a cancel or your own orders.",
)
