"""Completion of names from the status bucket and of settings from the file: at most 300 ms, silent when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dispatch.cli.session import Session
    from dispatch.jobfile.kinds import Kind

WITHIN_S = 0.3
LOOKED_AT_MAX = 8


def job_names(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """The jobs whose names begin so."""
    return _beginning(begun, _ask(context, _jobs))


def cluster_names(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """The clusters that live replicas and open jobs name."""
    return _beginning(begun, _ask(context, _clusters))


def node_names(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """The nodes of which a proof is waited for: by the job of `--job`, else by those that need a person."""
    job = context.params.get("job")
    return _beginning(begun, _ask(context, lambda session: _nodes(session, job)))


def state_names(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """The states a job can be in; after a comma, the next one."""
    from projections.status import State

    given, comma, last = begun.rpartition(",")
    return [f"{given}{comma}{state.value}" for state in State if state.value.startswith(last)]


def settings(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """`--set`: paths of fields, rules by the names that the file gives them; behind `=` words and causes."""
    try:
        return _beginning(begun, _settings(context.params.get("file"), begun))
    except Exception:  # any: a completion has no place to tell an error
        return []


def _beginning(begun: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(begun)]


def _ask(context: click.Context, question: Callable[[Session], Awaitable[list[str]]]) -> list[str]:
    """The names, or nothing: whatever goes wrong, a completion says nothing of it."""
    try:
        return asyncio.run(asyncio.wait_for(_answered(context, question), WITHIN_S))
    except Exception:  # any: a completion has no place to tell an error
        return []


async def _answered(context: click.Context, question: Callable[[Session], Awaitable[list[str]]]) -> list[str]:
    from dispatch.cli.params import GlobalFlags
    from dispatch.cli.tool import Tool

    given = context.params
    flags = GlobalFlags(
        context=given.get("context"),
        nats=given.get("nats"),
        creds=given.get("creds"),
        inbox_prefix=given.get("inbox_prefix"),
        tenant=given.get("tenant"),
        cluster=given.get("cluster"),
        timeout=WITHIN_S,
    )
    async with Tool(flags).session() as session:
        return await question(session)


async def _jobs(session: Session) -> list[str]:
    """Every job; of the cluster that was typed, where one was."""
    from dispatch.cli.fleet import read_fleet

    if session.tool.flags.cluster is None:
        return await session.names()
    return sorted(entry.job for entry in (await read_fleet(session)).entries)


async def _clusters(session: Session) -> list[str]:
    from dispatch.cli.fleet import read_fleet

    return [seen.name for seen in (await read_fleet(session)).clusters()]


async def _nodes(session: Session, job: str | None) -> list[str]:
    from dispatch.cli.fleet import read_fleet
    from projections.sightings import waiting_nodes

    jobs = [job] if job else [entry.job for entry in (await read_fleet(session)).needing][:LOOKED_AT_MAX]
    reads = await asyncio.gather(*(session.maybe(name) for name in jobs))
    runs = [run for read in reads for held in read.record.objects.values() for run in held.unproven]
    return sorted({node for run in runs for node in waiting_nodes(run)})


def _settings(file: str | None, begun: str) -> Iterator[str]:
    from dispatch.jobfile.kinds import every_path

    path, equals, _ = begun.partition("=")
    if equals:
        yield from _values(path)
        return
    for each in every_path():
        head, _, field = each.partition(".")
        if head != "recovery":
            yield f"{each}="
        elif field:
            yield from (f"recovery.{rule}.{field}=" for rule in _rules(file))


def _values(path: str) -> Iterator[str]:
    """The words that may stand in the field, whole entries of a list among them."""
    from dispatch.jobfile.kinds import Flag, ListOf, Word

    kind = _kind_of(path.split("."))
    listed = isinstance(kind, ListOf)
    inner = kind.item if isinstance(kind, ListOf) else kind
    words = inner.words if isinstance(inner, Word) else ("true", "false") if isinstance(inner, Flag) else ()
    for word in words:
        yield f"{path}=[{word}]" if listed else f"{path}={word}"


def _kind_of(steps: list[str]) -> Kind | None:
    """What the field may hold; a list's entry goes by its name or place."""
    from dispatch.jobfile.kinds import Group, ListOf, job_file

    kind: Kind | None = job_file()
    for step in steps:
        match kind:
            case Group():
                kind = kind.fields.get(step)
            case ListOf():
                kind = kind.item
            case _:
                return None
    return kind


def _rules(file: str | None) -> list[str]:
    """The names of the rules that the file gives."""
    from dispatch.jobfile import read_job_file

    if not file or file == "-":
        return []
    plan = read_job_file(Path(file).read_bytes(), cluster="any").plan
    return [rule.name for rule in plan.rules] if plan is not None else []
