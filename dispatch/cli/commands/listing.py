"""`dispatch list`: open jobs, those that need a person first, in one read of the status bucket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from dispatch.cli.completing import state_names
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import DURATION, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from dispatch.cli.fleet import FleetRead
    from projections.fleet import FleetEntry

LIMIT = 50
SORTS = ("need", "name", "state", "for", "submitted", "cluster", "owner")


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What `list` takes."""

    mine: bool = option("--mine", is_flag=True, help="only those that you submitted")
    state: str | None = option("--state", metavar="S,…", complete=state_names, help="only in these states")
    needs_person: bool = option("--needs-person", is_flag=True, help="only those that need a person")
    labels: tuple[str, ...] = option("-l", "--label", multiple=True, metavar="K=V", help="only with this label")
    since: float | None = option("--since", type=DURATION, metavar="DURATION", help="submitted no longer ago")
    foreign: bool = option("--foreign", is_flag=True, help="only those with an object of nobody's")
    every: bool = option("--all", is_flag=True, help="settled ones too")
    sort: str = option("--sort", type=click.Choice(SORTS), default="need", help="in this order")
    limit: int | None = option(
        "--limit", type=click.IntRange(min=0), metavar="N", help=f"at most N, 0 for all; {LIMIT}"
    )


@command(ListOptions)
def list_(tool: Tool, options: ListOptions) -> Exit:
    """Open jobs, those that need a person first."""
    return tool.run(_listing(tool, options))


async def _listing(tool: Tool, options: ListOptions) -> Exit:
    from dispatch.cli.fleet import read_fleet
    from dispatch.cli.typed_cluster import where_shown
    from dispatch.cli.views.listing import header_line, list_lines

    states = _states(options.state)
    async with tool.session() as session:
        fleet = await read_fleet(session)
        entries = _kept(fleet, options, states, session.client.actor)
    limit = LIMIT if options.limit is None else options.limit
    shown = entries[:limit] if limit else entries
    if tool.flags.json:
        data = {"jobs": shown, "total": len(entries), "needs_person": len(fleet.needing), "waiting": fleet.waiting}
        tool.document("list", data)
        return Exit.DONE
    times, screen = tool.times(), tool.screen
    screen.say(header_line(where_shown(tool), fleet, times, screen))
    if shown:
        screen.lines(list_lines(shown, fleet, times, screen))
    _rest(tool, fleet, len(entries) - len(shown))
    return Exit.DONE


def _rest(tool: Tool, fleet: FleetRead, more: int) -> None:
    parts = [f"{more} more: --limit 0"] if more else []
    if fleet.waiting:
        one = fleet.waiting == 1
        parts.append(
            f"{fleet.waiting} command{'' if one else 's'} wait{'s' if one else ''} on the bus for a supervisor"
        )
    if parts:
        tool.screen.say("     ".join(parts))


def _states(text: str | None) -> frozenset[str] | None:
    from projections.status import State

    if text is None:
        return None
    states = frozenset(word.strip() for word in text.split(","))
    if unknown := states - {state.value for state in State}:
        known = ", ".join(state.value for state in State)
        raise CliError(f"--state {', '.join(sorted(unknown))}: no such state", why=known, code="bad-usage")
    return states


def _kept(fleet: FleetRead, options: ListOptions, states: frozenset[str] | None, actor: str) -> list[FleetEntry]:
    """The entries that were asked for, in the order that was asked for."""
    from dispatch.cli.fleet import pairs_of

    labels = pairs_of(options.labels).items()
    settled_too = options.every or (states is not None and bool(states & {"succeeded", "failed", "cancelled"}))
    kept = [
        entry
        for entry in fleet.entries
        if (settled_too or not entry.settled)
        and (states is None or entry.state.value in states)
        and (not options.mine or entry.owner.split(" ")[0] == actor)
        and (not options.needs_person or entry.needs_person_at(fleet.at))
        and labels <= entry.labels.items()
        and (not options.foreign or any(alert.value == "foreign!" for alert in entry.alerts))
        and (options.since is None or _age_s(fleet, entry) <= options.since)
    ]
    return kept if options.sort == "need" else sorted(kept, key=lambda entry: _order(options.sort, entry))


def _age_s(fleet: FleetRead, entry: FleetEntry) -> float:
    return (fleet.at - entry.submitted_at).total_seconds() if entry.submitted_at else float("inf")


def _order(sort: str, entry: FleetEntry) -> tuple[str, str]:
    first = {
        "name": "",
        "state": entry.state.value,
        "for": entry.since.isoformat() if entry.since else "",
        "submitted": entry.submitted_at.isoformat() if entry.submitted_at else "",
        "cluster": entry.cluster,
        "owner": entry.owner,
    }[sort]
    return first, entry.job
