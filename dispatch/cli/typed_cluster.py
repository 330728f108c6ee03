"""The cluster that was typed with `--cluster`: what is shown is of it alone, and no order goes to a job elsewhere.

Only the flag binds. A cluster of the environment or of the context is where a new job goes, and narrows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dispatch.cli.errors import CliError
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from dispatch.cli.session import Read
    from dispatch.jobfile import JobFile

NAMED_MAX = 8


def cluster_of(read: Read) -> str | None:
    """The cluster of the job; None of one that was never submitted."""
    return read.record.spec.cluster if read.record.spec is not None else None


def clusters_of(reads: Sequence[Read]) -> list[str]:
    """The clusters of the jobs, in order of name."""
    return sorted({cluster for read in reads if (cluster := cluster_of(read)) is not None})


def where_of(tool: Tool, reads: Sequence[Read]) -> str:
    """`prod · nlp @ hpc2`: where an order to these jobs acts, which their own clusters say and no setting does."""
    return tool.settings.where(", ".join(clusters_of(reads)) or None)


def where_shown(tool: Tool) -> str:
    """`prod · nlp`, the head of a view of many jobs; ` @ hpc2` behind it where it is of that cluster alone."""
    where = tool.settings.where(tool.flags.cluster)
    return where if tool.flags.cluster is not None else where.split(" @ ", maxsplit=1)[0]


def refuse_elsewhere(tool: Tool, reads: Sequence[Read]) -> None:
    """Return if no job is on another cluster than the one that was typed. Raises CliError (3); nothing was sent."""
    typed = tool.flags.cluster
    if typed is None:
        return
    elsewhere = [read for read in reads if cluster_of(read) not in {None, typed}]
    if not elsewhere:
        return
    raise CliError(
        f"{_jobs(elsewhere)} not on {typed}; nothing was sent",
        why=on_clusters(elsewhere),
        do="the same with the cluster that is meant, or without --cluster",
        code="no-such-job",
    )


def on_clusters(reads: Sequence[Read]) -> str:
    """`llama is on hpc2, bert on hpc3`."""
    first, *others = (f"{read.job} {{}}on {cluster_of(read)}" for read in reads[:NAMED_MAX])
    more = f" and {len(reads) - NAMED_MAX} more" if len(reads) > NAMED_MAX else ""
    return ", ".join([first.format("is "), *(each.format("") for each in others)]) + more


def takes_none(tool: Tool, verb: str, *, why: str, do: str) -> None:
    """Return if no cluster was typed to a verb that is of all of them. Raises CliError (2): silence would widen it."""
    if tool.flags.cluster is not None:
        raise CliError(f"{verb} takes no --cluster", why=why, do=do, code="bad-usage")


def agreed(tool: Tool, job: JobFile, source: str) -> None:
    """Return if the job is for the cluster that was typed. Raises JobFileError at the line that says another."""
    from dispatch.jobfile import JobFileError

    typed, written = tool.flags.cluster, job.spec.cluster
    if typed is not None and typed != written:
        what, fix = f"{written}, and --cluster says {typed}", f"leave --cluster out, or --set cluster={typed}"
        raise JobFileError(source, [job.mistake("cluster", what, fix)])


def _jobs(reads: Sequence[Read]) -> str:
    if len(reads) == 1:
        return f"{reads[0].job} is"
    return f"{len(reads)} of the jobs are"
