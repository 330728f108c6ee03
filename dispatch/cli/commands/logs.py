"""`dispatch logs JOB`: what the ranks wrote, each line led by `rank@node`."""

from __future__ import annotations

from dataclasses import dataclass

import click

from dispatch.cli.completing import job_names
from dispatch.cli.errors import CliError
from dispatch.cli.params import DURATION, argument, command, option
from dispatch.cli.tool import Tool
from dispatch.units import whole_number

TAIL = 50


@dataclass(frozen=True, slots=True)
class LogsOptions:
    """What `logs` takes."""

    job: str = argument("JOB", complete=job_names)
    execution: str | None = option("--exec", metavar="N.R", help="this execution; default: the last one")
    ranks: str | None = option("--rank", metavar="R,…", help="only these ranks")
    first_failed: bool = option("--first-failed", is_flag=True, help="the rank that ended first")
    follow: bool = option("-f", "--follow", is_flag=True, help="go on with what is written; Ctrl-C leaves")
    tail: int = option(
        "--tail", type=click.IntRange(min=0), default=TAIL, metavar="N", help="the last N lines of each rank; 0: all"
    )
    since: float | None = option("--since", type=DURATION, metavar="DURATION", help="only if written to in that time")


@command(LogsOptions)
def logs(tool: Tool, options: LogsOptions) -> int:
    """What the ranks of an execution wrote, each line led by its rank and node."""
    from dispatch.cli.output import show_output

    if options.first_failed and options.ranks is not None:
        raise CliError("one of --rank and --first-failed", code="bad-usage")
    if options.follow:
        tool.waits()
    return tool.run(show_output(tool, options))


def ranks_of(text: str | None, ranks: int) -> list[int]:
    """The ranks named, all of them for None. Raises CliError (2, 3)."""
    if text is None:
        return list(range(ranks))
    chosen = []
    for word in text.split(","):
        rank = whole_number(word.strip())
        if rank is None:
            raise CliError(f"--rank {text[:40]!r}: ranks are numbers with commas", code="bad-usage")
        if rank >= ranks:
            raise CliError(f"there is no rank {rank}", why=f"the job has ranks 0 to {ranks - 1}", code="no-such-object")
        chosen.append(rank)
    return chosen
