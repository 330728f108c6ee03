"""`dispatch verify`: histories against the laws, with code of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dispatch.cli.completing import job_names
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from projections.verify import Verdict
    from streams.messages.events import Entry

    Histories = Mapping[tuple[str, str], Sequence[Entry]]


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """What `verify` takes."""

    jobs: tuple[str, ...] = argument("JOB…", many=True, required=False, complete=job_names)
    every: bool = option("--all", is_flag=True, help="every job of the tenant")
    file: str | None = option("--file", metavar="F", help="an export; needs no bus")


@command(VerifyOptions)
def verify(tool: Tool, options: VerifyOptions) -> Exit:
    """Check histories against the laws. A law that a history cannot show is n/a."""
    if sum((bool(options.jobs), options.every, options.file is not None)) != 1:
        raise CliError("one of JOB…, --all and --file F is needed", code="bad-usage")
    histories = _of_file(Path(options.file)) if options.file is not None else tool.run(_of_bus(tool, options))
    return _judged(tool, histories if options.jobs else _narrowed(tool, histories))


def _narrowed(tool: Tool, histories: Histories) -> Histories:
    """The histories of the cluster that was typed; all of them where none was. Raises CliError (3) if it has none."""
    from streams.messages.events import Envelope, JobSubmitted

    typed = tool.flags.cluster
    if typed is None:
        return histories

    def submitted_there(entry: Entry) -> bool:
        event = entry.content.event if isinstance(entry.content, Envelope) else None
        return isinstance(event, JobSubmitted) and event.spec.cluster == typed

    kept = {name: entries for name, entries in histories.items() if any(map(submitted_there, entries))}
    if not kept:
        raise CliError(f"none of these jobs is on {typed}: nothing was judged", code="no-such-job")
    return kept


def _of_file(path: Path) -> Histories:
    from dispatch.exporting import ExportError, manifest_path, read_manifest
    from projections.jsonl import by_job, load
    from streams.errors import CodecError
    from streams.subjects import CONTROLS

    try:
        if manifest_path(path).exists():
            read_manifest(path)
        entries = load(path.read_bytes())
    except OSError as error:
        raise CliError(f"{path} cannot be read", why=str(error.strerror), code="bad-usage") from error
    except (ExportError, CodecError) as error:
        raise CliError(str(error), code="bad-usage") from error
    if all(entry.job == CONTROLS for entry in entries):
        why = "nothing but controls are in it" if entries else "it is empty"
        raise CliError(f"{path} holds no job's history: nothing was judged", why=why, code="bad-usage")
    return by_job(entries)


async def _of_bus(tool: Tool, options: VerifyOptions) -> Histories:
    from dispatch.cli.progress import Progress
    from streams import codec

    async with tool.session() as session:
        if not options.every:
            reads = [await session.read(job) for job in options.jobs]
            return {(session.tenant, read.job): list(read.entries) for read in reads}
        histories: dict[tuple[str, str], list[Entry]] = {}
        progress, count = Progress(tool.screen, "read"), 0
        async for stored in session.bus.history.stored(tenant=session.tenant):
            entry = codec.decode_event(
                stored.subject, stored.data, revision=stored.revision, stored_at=stored.stored_at
            )
            histories.setdefault((entry.tenant, entry.job), []).append(entry)
            count += 1
            progress.at(count)
        progress.done()
        return histories


def _judged(tool: Tool, histories: Histories) -> Exit:
    from dispatch.cli.progress import Progress
    from projections.verify import verify as judge
    from streams.subjects import CONTROLS

    progress = Progress(tool.screen, "judged", len(histories))
    verdicts = []
    for (_, job), entries in histories.items():
        if job != CONTROLS:
            verdicts.append(judge(entries))
            progress.at(len(verdicts))
    progress.done()
    tool.answer("verify", {"jobs": verdicts}, lambda: _lines(verdicts))
    return Exit.DONE if all(verdict.lawful for verdict in verdicts) else Exit.CHECK_FAILED


def _lines(verdicts: list[Verdict]) -> list[str]:
    """Each job's verdict, its name in front; of many jobs a count at the end."""
    width = max((len(verdict.job) for verdict in verdicts), default=0)
    lines = []
    for verdict in verdicts:
        for number, line in enumerate(verdict.lines):
            lines.append(f"{verdict.job if number == 0 else '':<{width}}  {line}")
    broken = sum(not verdict.lawful for verdict in verdicts)
    if len(verdicts) != 1:
        lines.append(f"{len(verdicts)} jobs: {broken} broken, {sum(verdict.events for verdict in verdicts):,} events")
    return lines
