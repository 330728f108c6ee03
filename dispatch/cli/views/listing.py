"""`dispatch list` and `dispatch status` without a name: many jobs in few columns."""

from __future__ import annotations

from collections.abc import Sequence

from dispatch.cli.columns import table, wrap_items
from dispatch.cli.fleet import FleetRead
from dispatch.cli.screen import Screen, clean
from dispatch.cli.times import Times, elapsed
from dispatch.cli.views.frame import NATURES
from projections.fleet import FleetEntry

DEAD_MAX = 5
HEADER = ["", "JOB", "STATE", "FOR", "WAITS FOR", "NODES", "CLUSTER", "OWNER"]


def header_line(where: str, fleet: FleetRead, times: Times, screen: Screen) -> str:
    """`prod · nlp · 03:06:34 UTC+1 · 41 open, 2 need a person · hpc2 8s ago · k8s-a UNREACHABLE 14m`."""
    needing = len(fleet.needing)
    counts = f"{len(fleet.open)} open"
    if needing:
        verb = "needs" if needing == 1 else "need"
        counts += ", " + screen.paint(f"{needing} {verb} a person", "red")
    parts = [where, times.header(), counts]
    for seen in fleet.clusters():
        if seen.unreachable:
            since = f" {times.since(seen.read_at)}" if seen.read_at else ""
            parts.append(screen.paint(f"{seen.name} UNREACHABLE{since}", "yellow"))
        elif seen.read_at is None:
            parts.append(f"{seen.name} never read")
        else:
            parts.append(f"{seen.name} {times.since(seen.read_at)} ago")
    return " · ".join(parts)


def list_lines(entries: Sequence[FleetEntry], fleet: FleetRead, times: Times, screen: Screen) -> list[str]:
    """The table of jobs."""
    silent = {seen.name: seen for seen in fleet.clusters() if seen.unreachable}
    rows = [HEADER]
    for entry in entries:
        waits = clean(times.local(entry.waits)).split(", to start ")[0] or "-"
        if entry.nature is not None and entry.nature.value in {"when-others-end", "will-not-end-as-it-is"}:
            waits += f" ({NATURES[entry.nature.value]})"
        if entry.cluster in silent and not entry.settled:
            waits += f" (as of {times.since(entry.cluster_read_at)} ago)"
        rows.append(
            [
                "!" if entry.needs_person_at(fleet.at) else "",
                entry.job,
                entry.state.value,
                elapsed((fleet.at - entry.since).total_seconds()) if entry.since else "-",
                waits,
                str(entry.nodes),
                entry.cluster or "-",
                clean(entry.owner) or "-",
            ]
        )
    lines = table(rows, free=4, width=screen.width, right=frozenset({5}))
    return [_painted(line, screen) for line in lines]


def _painted(line: str, screen: Screen) -> str:
    return screen.paint(line, "red") if line.startswith("!") else line


def replica_lines(fleet: FleetRead, times: Times, width: int | None) -> list[str]:
    """The replicas: dead ones first, then the live, or that there is none."""
    if fleet.replicas is None:
        return ["REPLICAS  not known: the bucket of heartbeats does not answer"]
    told = [f"{beat.name} dead {times.since(beat.at)}" for beat in fleet.living.silent[:DEAD_MAX]]
    if len(fleet.living.silent) > DEAD_MAX:
        told.append(f"{len(fleet.living.silent) - DEAD_MAX} more dead")
    if not fleet.replicas:
        lines = ["REPLICAS  none is live: nothing is decided until one starts (dispatch supervise)"]
        return lines + (wrap_items("          ", told, width) if told else [])
    for beat in fleet.replicas:
        flags = [word for word, on in (("draining", beat.draining), ("observing", beat.observing)) if on]
        aside = f" ({', '.join(flags)})" if flags else ""
        told.append(f"{beat.name} live{aside}, {times.since(beat.at)} ago")
    told.append(f"{fleet.unattended} job{'' if fleet.unattended == 1 else 's'} unattended")
    return wrap_items("REPLICAS  ", told, width)


def fleet_lines(where: str, fleet: FleetRead, times: Times, screen: Screen) -> list[str]:
    """Clusters, replicas, counts and alerts; then the jobs that need a person."""
    states: dict[str, int] = {}
    for entry in fleet.open:
        states[entry.state.value] = states.get(entry.state.value, 0) + 1
    counts = [f"{state} {count}" for state, count in sorted(states.items(), key=lambda item: -item[1])]
    alerts: dict[str, int] = {}
    for entry in fleet.entries:
        for alert in entry.alerts:
            alerts[alert.value] = alerts.get(alert.value, 0) + 1
    lines = [header_line(where, fleet, times, screen), *replica_lines(fleet, times, screen.width)]
    lines += wrap_items("JOBS      ", counts or ["none open"], screen.width)
    if alerts:
        lines += wrap_items("ALERTS    ", [f"{alert} {count}" for alert, count in sorted(alerts.items())], screen.width)
    for seen in fleet.clusters():
        if seen.unreachable:
            since = f" {times.since(seen.read_at)}" if seen.read_at else ""
            jobs = f"{seen.open_jobs} jobs as last seen; nothing is decided from silence"
            lines.append(screen.paint(f"{seen.name} UNREACHABLE{since}: {jobs}", "yellow"))
    if fleet.waiting:
        many = "s" if fleet.waiting > 1 else ""
        lines.append(f"COMMANDS  {fleet.waiting} command{many} wait{'' if many else 's'} on the bus for a supervisor")
    if fleet.needing:
        lines += list_lines(fleet.needing, fleet, times, screen)
    return lines
