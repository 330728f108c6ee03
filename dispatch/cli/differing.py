"""Which fields of a job's spec and plan differ from what was submitted under its name before."""

from __future__ import annotations

from dataclasses import replace

from dispatch.cli.change import Told
from dispatch.cli.session import Session
from dispatch.jobfile.writing import job_file_of
from projections.status import state_of
from streams.errors import StreamError
from streams.messages.commands import SubmitJob

FIELDS_MAX = 6


def differing(one: object, other: object, path: str = "") -> list[str]:
    """The dotted paths at which two files differ; a rule of the plan goes by its name."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = [*one, *(name for name in other if name not in one)]
        return [
            found
            for name in names
            for found in differing(one.get(name), other.get(name), f"{path}.{name}" if path else str(name))
        ]
    if path == "recovery" and isinstance(one, list) and isinstance(other, list):
        return differing(_by_name(one), _by_name(other), path)
    return [] if one == other else [path]


def _by_name(rules: list[object]) -> dict[str, object]:
    return {str(rule.get("name", number)): rule for number, rule in enumerate(rules) if isinstance(rule, dict)}


async def compared(session: Session, order: SubmitJob, told: Told, source: str) -> Told:
    """The refusal with who submitted the other spec, when, and what differs; as it is where that cannot be read.

    `source`: as it is pasted into a shell.
    """
    try:
        read = await session.maybe(order.job)
    except StreamError:
        return told
    submitted = read.record.submitted
    if submitted is None:
        return told
    plan = order.plan if order.plan is not None else submitted.plan
    fields = differing(job_file_of(submitted.spec, submitted.plan), job_file_of(order.spec, plan))
    times = session.tool.times()
    many = f"{len(fields)} field{'s' if len(fields) != 1 else ''} differ{'s' if len(fields) == 1 else ''}"
    shown = ", ".join(fields[:FIELDS_MAX]) + (" …" if len(fields) > FIELDS_MAX else "")
    by = f" by {read.record.submitted_by}" if read.record.submitted_by else ""
    why = f"submitted {times.at(read.record.submitted_at)}{by}; {many}: {shown}" if fields else ""
    state = state_of(read.record).value
    old = f"settled, {state}" if read.record.settled else state
    width = max(len(f"dispatch submit {source} --new"), len(f"dispatch status {order.job}"))
    do = (
        f"{f'dispatch submit {source} --new':<{width}}      a new job under a new name",
        f"{f'dispatch status {order.job}':<{width}}      the old one ({old})",
    )
    document = told.document | {"differs": fields}
    return replace(told, why=(why,) if why else (), do=do, document=document)
