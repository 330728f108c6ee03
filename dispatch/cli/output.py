"""Reading what ranks wrote through whoever can read it: the local cluster's files, or the cluster's agent."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from adapters.errors import AdapterError
from dispatch.cli.cluster import adapter_for, job_name
from dispatch.cli.commands.logs import LogsOptions, ranks_of
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.session import Read, Session
from dispatch.cli.tool import Tool
from projections.record import ObjectRecord, Record, RunRecord
from projections.status.tables import processes_of
from projections.status.words import execution
from streams.messages.calls import JobName
from streams.messages.values import epoch_of

if TYPE_CHECKING:
    from adapters.asking import AskingAdapter

TAIL_BYTES = 64 * 1024
POLL_S = 0.5
_EXECUTION = re.compile(r"(?P<submission>[0-9]{1,9})\.(?P<run>[0-9]{1,6})\Z")


@dataclass(slots=True)
class RankOutput:
    """One rank of one execution, and how far it was read."""

    adapter: AskingAdapter
    name: JobName
    held: ObjectRecord
    run: RunRecord
    rank: int
    node: str
    offset: int = 0
    left: bytes = b""

    async def tail(self, lines: int) -> list[str]:
        """The last lines written so far; all of them for 0."""
        if lines:
            data, self.offset = await self._read(-TAIL_BYTES)
            whole = data.decode("utf-8", "replace").splitlines()
            return whole[-lines:]
        return await self.more(flush=True)

    async def more(self, *, flush: bool = False) -> list[str]:
        """What was written since, in whole lines; with `flush` also an unfinished one."""
        data = self.left
        while True:
            part, offset = await self._read(self.offset)
            data += part
            if not part or offset == self.offset:
                break
            self.offset = offset
        text, _, rest = data.rpartition(b"\n")
        self.left = b"" if flush else rest
        lines = text.decode("utf-8", "replace").split("\n") if text else []
        return [*lines, rest.decode("utf-8", "replace")] if flush and rest else lines

    async def _read(self, offset: int) -> tuple[bytes, int]:
        return await self.adapter.read_output(self.name, self.held.ref, self.run.run, self.rank, offset=offset)


async def show_output(tool: Tool, options: LogsOptions) -> int:
    """Print the output that was asked for; 3 with the reason when nothing is left."""
    async with tool.session() as session:
        read = await session.read(options.job)
        outputs = await _outputs(session, read, options)
        shown = await _first(tool, read, outputs, options)
        if options.follow:
            return await _follow(session, read, outputs)
        if not shown and not tool.flags.json:
            raise CliError(
                f"nothing is left of what {execution(outputs[0].held, outputs[0].run.run)} wrote",
                why=f"the cluster has no output of {len(outputs)} rank{'s' if len(outputs) > 1 else ''}",
                code="no-output",
            )
    return Exit.DONE


async def _outputs(session: Session, read: Read, options: LogsOptions) -> list[RankOutput]:
    record = read.record
    if record.spec is None:
        raise CliError(f"{read.job} was never submitted: it wrote nothing", code="no-output")
    held, run = execution_of(record, options.execution, first_failed=options.first_failed)
    adapter = adapter_for(session, record.spec.cluster)
    if adapter is None:
        raise CliError(f"{record.spec.cluster} cannot be asked from here", code="agent-unreachable")
    if options.first_failed:
        rank = run.cause.rank if run.cause is not None else None
        if rank is None:
            raise CliError(
                f"{execution(held, run.run)} names no rank that failed first",
                why=f"it ended by {run.cause.kind.value}" if run.cause else "it has not ended",
                code="no-such-object",
            )
        ranks = [rank]
    else:
        ranks = ranks_of(options.ranks, record.spec.ranks)
    per_node = record.spec.ranks_per_node
    name = job_name(session, record)
    return [
        RankOutput(
            adapter, name, held, run, rank, run.nodes[rank // per_node] if rank // per_node < len(run.nodes) else "?"
        )
        for rank in ranks
    ]


def execution_of(record: Record, text: str | None, *, first_failed: bool = False) -> tuple[ObjectRecord, RunRecord]:
    """The execution of that name; without one the last, or the last that failed. Raises CliError (2, 3)."""
    runs = [
        (epoch_of(held.submission or 0, run.run), held, run)
        for held in record.objects.values()
        for run in held.runs
        if run.begun and (run.started_at is not None or run.ended)
    ]
    runs.sort(key=lambda each: each[0])
    if text is not None:
        found = _EXECUTION.match(text)
        if found is None:
            raise CliError(f"--exec {text[:30]!r} is not N.R, such as 2.0", code="bad-usage")
        wanted = (int(found["submission"]), int(found["run"]))
        runs = [each for each in runs if (each[1].submission, each[2].run) == wanted]
    elif first_failed:
        runs = [each for each in runs if each[2].cause is not None and each[2].cause.kind.value != "completed"]
    if not runs:
        what = f"execution {text}" if text else ("failed execution" if first_failed else "execution")
        raise CliError(
            f"{record.job} has no {what}",
            do=f"dispatch status {record.job}",
            code="no-such-object" if text else "no-output",
        )
    return runs[-1][1], runs[-1][2]


async def _first(tool: Tool, read: Read, outputs: list[RankOutput], options: LogsOptions) -> int:
    """The header and what was written so far; how many lines."""
    first = outputs[0]
    epoch = epoch_of(first.held.submission or 0, first.run.run)
    times = tool.times()
    ended = (
        f", ended {times.at(first.run.ended_at)}" if first.run.ended_at else f", {processes_of(first.held, first.run)}"
    )
    cause = f" by {first.run.cause.kind.value}" if first.run.cause else ""
    cluster = read.record.spec.cluster if read.record.spec else ""
    if not tool.flags.json:
        who = f" rank {first.rank}@{first.node}" if len(outputs) == 1 else f" {len(outputs)} ranks"
        name = execution(first.held, first.run.run)
        tool.screen.say(f"{name} (epoch {epoch}){who}{ended}{cause}, from {cluster}")
    ago = times.now - first.run.ended_at if first.run.ended_at is not None else timedelta(0)
    if options.since is not None and ago > timedelta(seconds=options.since):
        return 0
    count = 0
    for output in outputs:
        lines = await _asked(output.tail(options.tail), cluster)
        count += len(lines)
        _print(tool, output, lines)
    return count


async def _asked(question: object, cluster: str) -> list[str]:
    from collections.abc import Awaitable
    from typing import cast

    try:
        return await cast("Awaitable[list[str]]", question)
    except AdapterError as error:
        raise CliError(f"{cluster} does not give the output", why=str(error), code="agent-unreachable") from error


async def _follow(session: Session, read: Read, outputs: list[RankOutput]) -> int:
    """What is written from now on, until the run has ended and everything is read."""
    tool = session.tool
    cluster = read.record.spec.cluster if read.record.spec else ""
    while True:
        read = await session.refreshed(read)
        held = read.record.objects.get(outputs[0].held.ref)
        run = held.run_record(outputs[0].run.run) if held is not None else None
        over = read.record.settled or (run is not None and run.ended)
        for output in outputs:
            _print(tool, output, await _asked(output.more(flush=over), cluster))
        if over:
            if tool.flags.json:
                tool.stream({"kind": "end", "because": "ended", "revision": read.record.revision})
            return Exit.DONE
        await asyncio.sleep(POLL_S)


def _print(tool: Tool, output: RankOutput, lines: list[str]) -> None:
    if tool.flags.json:
        for line in lines:
            tool.stream({"kind": "line", "rank": output.rank, "node": output.node, "text": line})
    elif lines:
        tool.screen.lines(f"{output.rank}@{output.node}  {line}" for line in lines)
