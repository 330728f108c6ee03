"""A spec and a plan -> the job file that says the same, as values for JSON or YAML. What is at its default is left out.

Reading it back gives the same spec and plan: this is how `submit --from` lets `--set` change an old job's spec.
"""

from __future__ import annotations

from typing import cast

import msgspec

from dispatch import units
from dispatch.jobfile.kinds import Duration, Group, Kind, ListOf, MapOf, Size, job_file
from streams.messages.plan import RecoveryPlan
from streams.messages.spec import JobSpec


def job_file_of(spec: JobSpec, plan: RecoveryPlan | None) -> dict[str, object]:
    """The file's fields, durations and sizes with their units."""
    wire: dict[str, object] = {"version": 1, **cast("dict[str, object]", msgspec.to_builtins(spec))}
    if plan is not None:
        held = cast("dict[str, object]", msgspec.to_builtins(plan))
        wire["recovery"] = held.get("rules", [])
        fast_fail = cast("dict[str, object]", held.get("fast_fail", {}))
        if fast_fail:
            wire["fast_fail"] = "off" if fast_fail.get("off") else fast_fail
    written = _written(wire, job_file())
    assert isinstance(written, dict)
    return written


def _written(value: object, kind: Kind) -> object:
    match value, kind:
        case dict(), Group():
            return {name: _written(item, kind.fields[name]) for name, item in value.items() if item is not None}
        case dict(), MapOf():
            return {name: _written(item, kind.item) for name, item in value.items()}
        case list() | tuple(), ListOf():
            return [_written(item, kind.item) for item in value]
        case int() | float(), Duration():
            return units.exact_duration(value)
        case int(), Size():
            return units.exact_size(value)
        case _:
            return value
