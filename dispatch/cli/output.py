"""Reading what ranks wrote through whoever can read it: the local cluster's files, or the cluster's agent."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from adapters.errors import AdapterError
from dispatch.cli.cluster import adapter_for, job_name
from dispatch.cli.commands.logs import LogsOptions, ranks_of
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.session import Read, Session
from dispatch.cli.times import Times
from dispatch.cli.tool import Tool
from projections.record import ObjectRecord, Record, RunRecord
from projections.status.tables import processes_of
from projections.status.words import cause_text, execution
from streams.messages.calls import JobName, Output
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
    source: str = ""
    written_at: datetime | None = None

    async def tail(self, lines: int) -> list[str]:
        """The last lines written so far; all of them for 0."""
        if lines:
            last = await self._read(-TAIL_BYTES)
            self.offset = last.next
            return last.data.decode("utf-8", "replace").splitlines()[-lines:]
        return await self.more(flush=True)

    async def more(self, *, flush: bool = False) -> list[str]:
        """What was written since, in whole lines; with `flush` also an unfinished one."""
        data = self.left
        while True:
            part = await self._read(self.offset)
            data += part.data
            if not part.data or part.next == self.offset:
                break
            self.offset = part.next
        text, _, rest = data.rpartition(b"\n")
        self.left = b"" if flush else rest
        lines = text.decode("utf-8", "replace").split("\n") if text else []
        return [*lines, rest.decode("utf-8", "replace")] if flush and rest else lines

    async def _read(self, offset: int) -> Output:
        found = await self.adapter.read_output(self.name, self.held.ref, self.run.run, self.rank, offset=offset)
        self.source, self.written_at = found.source, found.written_at
        return found


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
    cluster = read.record.spec.cluster if read.record.spec else ""
    run = outputs[0].run
    ago = tool.times().now - run.ended_at if run.ended_at is not None else timedelta(0)
    asked = options.since is None or ago <= timedelta(seconds=options.since)
    count = 0
    for output in outputs:
        lines = await _asked(output.tail(options.tail), cluster) if asked else []
        if output is outputs[0] and not tool.flags.json:
            tool.screen.say(_header(tool.times(), outputs, options, cluster))
        count += len(lines)
        _print(tool, output, lines)
    return count


def _header(times: Times, outputs: list[RankOutput], options: LogsOptions, cluster: str) -> str:
    """Which execution, how it ended, and which copy of its output is read."""
    first = outputs[0]
    run = first.run
    one = len(outputs) == 1
    epoch = epoch_of(first.held.submission or 0, run.run)
    who = f"rank {first.rank}@{first.node}" if one else f"{len(outputs)} ranks"
    told = [f"{execution(first.held, run.run)} (epoch {epoch}) {who}"]
    if run.ended_at is not None:
        by = f" by {cause_text(msgspec.structs.replace(run.cause, rank=None, nodes=()))}" if run.cause else ""
        told.append(f"ended {times.at(run.ended_at)}{by}")
    else:
        told.append(processes_of(first.held, run))
    if options.first_failed:
        told += _followed(run)
    if one and first.written_at is not None:
        told.append(f"last line {times.at(first.written_at)}")
    told.append(f"from {first.source if one and first.source else cluster}")
    return ", ".join(told)


def _followed(run: RunRecord) -> list[str]:
    """How many ranks the first one took down, where the cluster counts them."""
    raw = run.cause.raw if run.cause is not None else {}
    if not raw.get("followed"):
        return []
    others = "1 other" if raw["followed"] == "1" else f"{raw['followed']} others"
    within = raw.get("followed_within_s", "")
    return [f"{others} followed" + (f" within {within}s" if within else "")]


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
