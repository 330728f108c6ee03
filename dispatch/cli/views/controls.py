"""What `dispatch retries show` says of one control: since when, by whom, which retries wait, the line that lifts it."""

from __future__ import annotations

from collections.abc import Sequence

from dispatch.cli.screen import clean
from dispatch.cli.times import Times
from projections.controls import Control
from projections.fleet import FleetEntry
from projections.status.lifting import line_of, scope_of

NAMED_MAX = 8


def control_lines(control: Control, waiting: Sequence[FleetEntry], times: Times) -> list[str]:
    """A line for each thing that stands, then the jobs it holds. `waiting`: those whose retry a control keeps."""
    standing = control.stands(times.now)
    if not standing:
        return [f"{scope_of(control)}: retries are on"]
    held = [entry.job for entry in waiting if control.cluster in (None, entry.cluster)]
    count = f"{len(held)} retr{'y waits' if len(held) == 1 else 'ies wait'}"
    lines = [f"{_said(control, why, times)}, {count} · {line_of(control, why)}" for why in standing]
    return [*lines, f"  holds {_named(held)}"] if held else lines


def _said(control: Control, why: str, times: Times) -> str:
    where, since = scope_of(control), times.at(control.set_at)
    note = f' "{clean(control.note)}"' if control.note else ""
    by = f"by {control.set_by.removeprefix('replica:')} #{control.number}"
    match why:
        case "brake":
            cause = clean(control.brake_cause) or "many jobs ended at once"
            return f"brake on {where} since {since} {by} until {times.at(control.brake_until_at)}: {cause}"
        case "observed":
            return f"observing on {where} since {since} {by}{note}"
        case _:
            return f"retries stopped on {where} since {since} {by}{note}"


def _named(jobs: Sequence[str]) -> str:
    more = f" and {len(jobs) - NAMED_MAX} more" if len(jobs) > NAMED_MAX else ""
    return ", ".join(jobs[:NAMED_MAX]) + more
