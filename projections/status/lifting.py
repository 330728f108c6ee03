"""Which line lifts a control: built from the control that stands, so that what is pasted lifts what it names."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from projections.controls import Control
from projections.status.view import Can


def scope_of(control: Control) -> str:
    """`hpc2`, or `every cluster`: what the control binds."""
    return control.cluster or "every cluster"


def line_of(control: Control, why: str) -> str:
    """The line that lifts this of the control: `retries-stopped`, `observed` or `brake`."""
    verb = "observe --off" if why == "observed" else "allow"
    flag = f"--cluster {control.cluster}" if control.cluster else "--all-clusters"
    return f'dispatch retries {verb} {flag} --reason "…"'


def lifted_by(standing: Iterable[Control], now: datetime) -> tuple[Can, ...]:
    """The lines that lift all of these, each once: a retry goes when none of them stands."""
    lines: dict[str, Can] = {}
    for control in standing:
        for why in control.stands(now):
            line = line_of(control, why)
            risk = "they may all end again" if why == "brake" else ""
            lines[line] = Can(command=line, effect=f"retries go on: {scope_of(control)}", risk=risk)
    return tuple(lines.values())
