"""`dispatch doctor job FILE`: what `submit --dry-run` checks of a job file, as findings. Nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dispatch.cli.cluster import capabilities_of
from dispatch.cli.dry_run import decided
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.fitting import check_fits
from dispatch.cli.session import Session
from dispatch.cli.tool import Tool
from dispatch.cli.typed_cluster import agreed
from dispatch.client import Said
from dispatch.findings import Finding, fail, ok, warn
from dispatch.jobfile import JobFile, JobFileError, read_job_file
from dispatch.jobfile.cautions import cautions
from streams.messages.calls import Capabilities
from streams.messages.commands import SubmitJob

UNNAMED = "doctor-unnamed"


async def examine_job(tool: Tool, source: str) -> tuple[Finding, ...]:
    """Every finding of the file, of its cluster, and of the decision. Raises CliError if the file cannot be read."""
    data = _bytes(source)
    try:
        job = read_job_file(data, source=source, cluster=tool.settings.cluster.value)
        agreed(tool, job, source)
    except JobFileError as error:
        return tuple(mistakes(error))
    findings = [ok("job", f"{source}: {_size(job)} on {job.spec.cluster}")]
    async with tool.session() as session:
        if job.tenant is not None and job.tenant != session.tenant:
            what = f"the job is of tenant {job.tenant}, the settings are of {session.tenant}"
            findings.append(fail("job", what, f"--tenant {job.tenant}, with that tenant's credentials"))
        able = await capabilities_of(session, job.spec.cluster)
        findings += fits(job, able, source)
        findings += [warn("job", f"{source} {each.place}: {each.sentence}", each.fix) for each in cautions(job)]
        findings.append(await _decision(session, job, able))
    return tuple(findings)


def _bytes(source: str) -> bytes:
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise CliError(f"{source} cannot be read", why=str(error.strerror), code="bad-job-file") from error


def mistakes(error: JobFileError) -> Iterator[Finding]:
    """One finding a mistake, each with its line."""
    for each in error.mistakes:
        place = f"{error.source} {each.place}".strip()
        yield fail("job", f"{place}: {each.sentence}", each.fix)


def fits(job: JobFile, able: Capabilities | None, source: str) -> list[Finding]:
    """Whether the cluster can do what the file asks; `able` None: it did not answer."""
    cluster = job.spec.cluster
    if able is None:
        return [
            warn("job", f"{cluster} gave no answer: whether it can do this is not known", f"dispatch doctor {cluster}")
        ]
    try:
        check_fits(job, able, source)
    except JobFileError as error:
        return list(mistakes(error))
    return [ok("job", f"{cluster} ({able.kind}) can do what it asks")]


async def _decision(session: Session, job: JobFile, able: Capabilities | None) -> Finding:
    """What a supervisor would decide now; a file without a name is asked for under one that no job has."""
    name = job.name or UNNAMED
    read = await session.maybe(name)
    order = SubmitJob(**session.client.fields(name, Said()), spec=job.spec, plan=job.plan)
    verdict = decided(read.record, order, able, session.client.actor)
    if verdict.exit_code is Exit.DONE:
        return ok("job", f"a submit {verdict.line}" + (f" under the name {name}" if job.name else ""))
    return fail("job", f"a submit {verdict.line}")


def _size(job: JobFile) -> str:
    ranks = job.spec.nodes * job.spec.ranks_per_node
    return f"{ranks} rank{'s' if ranks != 1 else ''}, {len(job.plan.rules) if job.plan else 'default'} recovery rules"
