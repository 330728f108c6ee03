"""How things are named to people: one spelling of a time, a cause, an object and a set of nodes, everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable

from projections.instants import stamp
from projections.record import AttemptRecord, ObjectRecord
from streams.messages.values import Cause

__all__ = ["attempts_text", "cause_text", "execution", "listed", "named", "nodes_text", "stamp"]

NAMES_MAX = 8
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})\Z")


def cause_text(cause: Cause | None) -> str:
    """The cause as people read it: `exit-code 3 (rank 0)`, `node-lost: n17`."""
    if cause is None:
        return "unknown"
    text = cause.kind.value
    if cause.exit_code:
        text += f" {cause.exit_code}"
    if cause.signal is not None:
        text += f" {cause.signal}"
    if cause.rank is not None:
        text += f" (rank {cause.rank})"
    return f"{text}: {nodes_text(cause.nodes)}" if cause.nodes else text


def nodes_text(nodes: Iterable[str]) -> str:
    """Nodes in short: `n14-n16 n18`."""
    runs: list[list[tuple[str, int, str]]] = []
    for node in sorted(set(nodes), key=_place):
        prefix, number, digits = _parts(node)
        last = runs[-1][-1] if runs else None
        follows = last is not None and (prefix, number) == (last[0], last[1] + 1) and len(digits) == len(last[2])
        if follows:
            runs[-1].append((prefix, number, digits))
        else:
            runs.append([(prefix, number, digits)])
    return " ".join(_span(run) for run in runs)


def _parts(node: str) -> tuple[str, int, str]:
    match = _NUMBERED.match(node)
    return (match[1], int(match[2]), match[2]) if match else (node, -2, "")


def _place(node: str) -> tuple[str, int, str]:
    prefix, number, _ = _parts(node)
    return (prefix, number, node)


def _span(run: list[tuple[str, int, str]]) -> str:
    first, last = (prefix + digits for prefix, _, digits in (run[0], run[-1]))
    return first if len(run) == 1 else f"{first}-{last}"


def named(kind: str, object_id: str) -> str:
    """An object with the kind of its scheduler: `slurm 88213`."""
    short = kind.removeprefix("simulated-")
    return f"{short} {object_id}" if short else object_id


def execution(held: ObjectRecord, run: int) -> str:
    """An execution's name: `N.R`; of an object without a submission, the object's and the run's."""
    return f"{held.submission}.{run}" if held.submission is not None else f"{held.ref.id} run {run}"


def attempts_text(attempts: Iterable[AttemptRecord]) -> str:
    """`attempt 1/1`, or `attempts 1/1-1/3`."""
    names = [f"{a.submission}/{a.attempt}" for a in attempts]
    if not names:
        return "no attempt"
    return f"attempt {names[0]}" if len(names) == 1 else f"attempts {names[0]}-{names[-1]}"


def listed(names: Iterable[str]) -> str:
    """Up to eight names, and how many more."""
    held = list(names)
    more = f" and {len(held) - NAMES_MAX} more" if len(held) > NAMES_MAX else ""
    return ", ".join(held[:NAMES_MAX]) + more
