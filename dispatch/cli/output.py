"""Reading what ranks wrote through whoever can read it: the local cluster's files, or the cluster's agent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Sequence
from datetime import timedelta
from functools import partial

import msgspec

from adapters.errors import AdapterError
from dispatch.cli.cluster import adapter_for, job_name
from dispatch.cli.commands.logs import LogsOptions, ranks_of
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.patience import Patience
from dispatch.cli.rank_output import RankOutput
from dispatch.cli.session import Read, Session
from dispatch.cli.times import Times
from dispatch.cli.tool import Tool
from projections.record import ObjectRecord, Record, RunRecord
from projections.status.tables import processes_of
from projections.status.words import cause_text, execution
from streams.messages.values import epoch_of

POLL_S = 0.5
_EXECUTION = re.compile(r"(?P<submission>[0-9]{1,9})\.(?P<run>[0-9]{1,6})\Z")


async def show_output(tool: Tool, options: LogsOptions) -> int:
    """Print the output that was asked for; 3 with the reason when nothing is left."""
    async with tool.session() as session:
        read = await session.read(options.job)
        outputs = await _outputs(session, read, options)
        asked = _is_recent(tool, outputs[0].run, options)
        written = await _written(read, outputs, options) if asked else [[] for _ in outputs]
        if not tool.flags.json:
            tool.screen.say(_header(tool.times(), outputs, options, cluster_of(read)))
        if not any(written) and (outputs[0].run.ended or not options.follow):
            raise _nothing(outputs, asked=asked)
        if tool.flags.json and not options.follow:
            tool.document("logs", document(read.job, outputs, written))
            return Exit.DONE
        for output, lines in zip(outputs, written, strict=True):
            _print(tool, output, lines, read.record.revision)
        return await _follow(session, read, outputs) if options.follow else Exit.DONE


def document(job: str, outputs: Sequence[RankOutput], written: Sequence[Sequence[str]]) -> dict[str, object]:
    """What the ranks of one execution wrote, as a program reads it."""
    held, run = outputs[0].held, outputs[0].run
    ranks = [
        {
            "rank": output.rank,
            "node": output.node,
            "source": output.source or None,
            "written_at": output.written_at,
            "lines": lines,
        }
        for output, lines in zip(outputs, written, strict=True)
    ]
    return {
        "job": job,
        "execution": execution(held, run.run),
        "epoch": epoch_of(held.submission or 0, run.run),
        "ended_at": run.ended_at,
        "cause": run.cause.kind if run.cause is not None else None,
        "ranks": ranks,
    }


def cluster_of(read: Read) -> str:
    """The cluster that the job is for; "" of a job that was never submitted."""
    return read.record.spec.cluster if read.record.spec is not None else ""


def _is_recent(tool: Tool, run: RunRecord, options: LogsOptions) -> bool:
    """Whether the run went on within `--since`."""
    ago = tool.times().now - run.ended_at if run.ended_at is not None else timedelta(0)
    return options.since is None or ago <= timedelta(seconds=options.since)


async def _written(read: Read, outputs: list[RankOutput], options: LogsOptions) -> list[list[str]]:
    """What each rank wrote so far. An unfinished line of a run that goes on and is followed is left for later."""
    flush = outputs[0].run.ended or not options.follow
    return [await _asked(output.tail(options.tail, flush=flush), cluster_of(read)) for output in outputs]


def _nothing(outputs: Sequence[RankOutput], *, asked: bool) -> CliError:
    ranks = f"{len(outputs)} rank{'s' if len(outputs) > 1 else ''}"
    why = f"the cluster has no output of {ranks}" if asked else "it ended before the time that --since gives"
    what = f"nothing is left of what {execution(outputs[0].held, outputs[0].run.run)} wrote"
    return CliError(what, why=why, code="no-output")


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


async def _asked(question: Awaitable[list[str]], cluster: str) -> list[str]:
    try:
        return await question
    except AdapterError as error:
        raise CliError(f"{cluster} does not give the output", why=str(error), code="agent-unreachable") from error


async def _follow(session: Session, read: Read, outputs: list[RankOutput]) -> int:
    """What is written from now on, until the run has ended and everything is read."""
    tool, patience = session.tool, Patience(session.tool)
    while True:
        seen = await patience.ask(partial(session.refreshed, read))
        if seen is not None:
            read = seen
            patience.back(read.record.number)
            if await _more(tool, read, outputs):
                _end(tool, read, "ended")
                return Exit.DONE
        if patience.over:
            _end(tool, read, "timeout")
            tool.screen.hint(f"--timeout ended the wait; {read.job} goes on")
            return Exit.TIMED_OUT
        await asyncio.sleep(POLL_S)


async def _more(tool: Tool, read: Read, outputs: list[RankOutput]) -> bool:
    """Print what was written since; whether that was all of it."""
    held = read.record.objects.get(outputs[0].held.ref)
    run = held.run_record(outputs[0].run.run) if held is not None else None
    over = read.record.settled or (run is not None and run.ended)
    for output in outputs:
        lines = await _asked(output.more(flush=over), cluster_of(read))
        _print(tool, output, lines, read.record.revision)
    return over


def _end(tool: Tool, read: Read, because: str) -> None:
    """The last line of a stream, so that a cut one is told from a finished one."""
    if tool.flags.json:
        tool.stream({"kind": "end", "because": because, "revision": read.record.revision})


def _print(tool: Tool, output: RankOutput, lines: list[str], revision: int) -> None:
    """Lines as a person reads them, or as a stream; `revision`: up to where the job's history was read by then."""
    if tool.flags.json:
        for line in lines:
            said = {"kind": "line", "rank": output.rank, "node": output.node, "text": line, "revision": revision}
            tool.stream(said)
    elif lines:
        tool.screen.lines(f"{output.rank}@{output.node}  {line}" for line in lines)
