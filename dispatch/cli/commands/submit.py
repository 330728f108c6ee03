"""`dispatch submit`: check the file here, publish one command, print the receipt."""

from __future__ import annotations

import secrets
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dispatch.cli import completing
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from dispatch.cli.change import Told
    from dispatch.cli.session import Session
    from dispatch.jobfile import JobFile
    from streams.messages.commands import SubmitJob

SUFFIX = "abcdefghjkmnpqrstvwxyz23456789"
UNTIL = ("running", "ended", "settled", "action")
UNTIL_DEFAULT = "settled"


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """What `submit` takes."""

    file: str | None = argument("FILE|-", required=False)
    of: str | None = option(
        "--from", metavar="JOB", complete=completing.job_names, help="that job's spec again, as a new job"
    )
    name: str | None = option("--name", metavar="N", help="the job's name, for ever")
    new: bool = option("--new", is_flag=True, help="add a fresh suffix to the name")
    settings: tuple[str, ...] = option(
        "--set", multiple=True, metavar="KEY=VALUE", complete=completing.settings, help="replace one field of the file"
    )
    hold: str | None = option("--hold", metavar="TEXT", help="submit it held, for this reason")
    wait: bool = option("--wait", is_flag=True, help="follow it to its end; Ctrl-C leaves, the job goes on")
    until: str | None = option("--until", type=click.Choice(UNTIL), help="--wait, and no further than to this")
    job_exit: bool = option("--job-exit", is_flag=True, help="--wait, and exit as the first failing rank did")

    @property
    def follows(self) -> bool:
        """Whether it is followed: `--until` and `--job-exit` say how, and so that it is."""
        return self.wait or self.until is not None or self.job_exit


@command(SubmitOptions, changes=True)
def submit(tool: Tool, options: SubmitOptions) -> int:
    """Give dispatch a job: a file, `-` for stdin, or --from another job."""
    if (options.file is None) == (options.of is None):
        raise CliError("one of FILE and --from JOB is needed", do="dispatch submit --help", code="bad-usage")
    if options.follows:
        tool.waits()
    return tool.run(_submit(tool, options))


async def _submit(tool: Tool, options: SubmitOptions) -> int:
    if options.of is None:
        job, stem = _read_file(tool, options), _stem(options.file or "-")
        async with tool.session() as session:
            return await _give(session, options, job, _name(tool, options, job.name, stem))
    async with tool.session() as session:
        job, stem = await _read_job(session, options)
        return await _give(session, options, job, _name(tool, options, None, stem))


def _read_file(tool: Tool, options: SubmitOptions) -> JobFile:
    from dispatch.jobfile import read_job_file

    source = options.file or "-"
    if source == "-":
        data = sys.stdin.buffer.read()
    else:
        try:
            data = Path(source).read_bytes()
        except OSError as error:
            raise CliError(f"{source} cannot be read", why=str(error.strerror), code="bad-job-file") from error
    shown = "stdin" if source == "-" else source
    return read_job_file(data, source=shown, cluster=tool.settings.cluster.value, settings=_settings(options))


def _settings(options: SubmitOptions) -> tuple[str, ...]:
    return (*options.settings, *([f"hold={options.hold}"] if options.hold is not None else []))


async def _read_job(session: Session, options: SubmitOptions) -> tuple[JobFile, str]:
    """The spec and plan of an earlier job as a file, and the stem of its name."""
    import json

    from dispatch.jobfile import read_job_file
    from dispatch.jobfile.writing import job_file_of

    read = await session.read(options.of or "")
    submitted = read.record.submitted
    if submitted is None:
        raise CliError(f"{read.job} was cancelled before it was submitted: it has no spec", code="no-such-object")
    text = json.dumps(job_file_of(submitted.spec, submitted.plan))
    return read_job_file(text.encode(), source=f"the spec of {read.job}", settings=_settings(options)), read.job


def _stem(source: str) -> str:
    return "job" if source == "-" else Path(source).stem


def _name(tool: Tool, options: SubmitOptions, written: str | None, stem: str) -> str:
    """The job's name: given, written, or made of the stem; `--new` and a made one get a fresh suffix.

    Raises CliError (2) where a repeat would get a fresh suffix too, and so be a second job.
    """
    from dispatch.jobfile import name_from
    from streams.subjects import is_token

    name = options.name or written
    if name is not None and not is_token(name):
        raise CliError(f"{name[:70]!r} is no name", why="1 to 63 of a-z, 0-9 and -", code="bad-usage")
    if name is not None and not options.new:
        return name
    if tool.change.command_id is not None:
        raise CliError(
            "--command-id repeats one submit of one job, and this one would make a new name",
            why="--new adds a fresh suffix" if options.new else "no name is given: it would be the file's and a suffix",
            do="--name NAME --command-id ID, as they were printed, without --new",
            code="bad-usage",
        )
    return name_from(name or stem, "".join(secrets.choice(SUFFIX) for _ in range(5)))


async def _give(session: Session, options: SubmitOptions, job: JobFile, name: str) -> int:
    from dispatch.cli import change
    from dispatch.cli.typed_cluster import agreed
    from dispatch.jobfile.cautions import cautions
    from streams.messages.commands import SubmitJob

    tool = session.tool
    if job.tenant is not None and job.tenant != session.tenant:
        raise CliError(
            f"the job is of tenant {job.tenant}, the settings are of {session.tenant}",
            do=f"--tenant {job.tenant}, with that tenant's credentials",
            code="bad-usage",
        )
    agreed(tool, job, options.file or f"the spec of {options.of}")
    if tool.settings.local_dir is not None or tool.change.dry_run:
        await _check_cluster(session, job, options.file or f"the spec of {options.of}")
    fields = session.client.fields(name, change.said(tool, required=False))
    order = SubmitJob(**fields, spec=job.spec, plan=job.plan)
    if tool.change.dry_run:
        return await _dry_run(session, order, job)
    for each in cautions(job):
        tool.screen.hint(f"warning: {each.told}")
    tool.screen.hint(f"{tool.settings.where(job.spec.cluster)}     submit {name} (command {order.command})")
    told = await change.send(
        session,
        order,
        lambda accepted: _accepted(name, f"#{accepted.receipt.number}"),
    )
    told = await _already(session, told, name)
    return await _ended(session, options, order, told)


async def _already(session: Session, told: Told, name: str) -> Told:
    """Of a job that was there already: since when, where that can be read."""
    from dispatch.client import Accepted
    from streams.errors import StreamError

    if not isinstance(told.outcome, Accepted) or not told.outcome.already:
        return told
    try:
        number, at = told.outcome.receipt.number, (await session.maybe(name)).record.submitted_at
    except StreamError:
        return told
    line = _accepted(name, f"#{number} at {session.tool.times().at(at)} (already; same spec)")
    return replace(told, line=line)


def _accepted(name: str, what: str) -> str:
    return f"{name}  accepted {what}          next: dispatch watch {name}"


async def _check_cluster(session: Session, job: JobFile, source: str) -> None:
    """What the cluster cannot do is told before anything is sent, where asking it is cheap."""
    from dispatch.cli.cluster import capabilities_of
    from dispatch.cli.fitting import check_fits

    able = await capabilities_of(session, job.spec.cluster)
    if able is not None:
        check_fits(job, able, source)


async def _ended(session: Session, options: SubmitOptions, order: SubmitJob, told: Told) -> int:
    from dispatch.cli import change
    from dispatch.client import Refused, Stored, Undecided
    from streams.messages.reasons import RefusalCode

    tool, name = session.tool, order.job
    if isinstance(told.outcome, Refused) and told.outcome.receipt.code is RefusalCode.SPEC_DIFFERS:
        from dispatch.cli.differing import compared

        source = shlex.quote(options.file) if options.file is not None else f"--from {options.of}"
        told = await compared(session, order, told, source)
    followed = options.follows and told.exit_code is Exit.DONE
    code = Exit.DONE if followed and tool.flags.json else change.show(tool, "submit", [told])
    if isinstance(told.outcome, Stored | Undecided):
        tool.screen.hint(f"to refuse it should it still arrive: dispatch cancel {name} --if-unknown record --reason …")
    if not followed:
        return code
    from dispatch.cli.following import Goal, follow

    return await follow(session, name, Goal(options.until or UNTIL_DEFAULT, job_exit=options.job_exit))


async def _dry_run(session: Session, order: SubmitJob, job: JobFile) -> Exit:
    """Show the plan and the decision at the revision read; nothing is sent."""
    from dispatch.cli.cluster import capabilities_of
    from dispatch.cli.dry_run import decided
    from dispatch.cli.views.plan import plan_lines
    from dispatch.jobfile.cautions import cautions
    from streams.messages.plan import default_plan

    tool = session.tool
    able = await capabilities_of(session, job.spec.cluster)
    read = await session.maybe(order.job)
    verdict = decided(read.record, order, able, session.client.actor)
    can_requeue = able is not None and bool(able.requeue_of)
    plan = job.plan if job.plan is not None else default_plan(requeue_preempted=can_requeue)
    lines = plan_lines(order.job, job.spec, plan, able, width=tool.screen.width)
    if able is None:
        lines.append(f"  note     {job.spec.cluster} was not asked: no agent answers from here")
    warnings = [each.told for each in cautions(job)]
    lines += [f"  warning  {each}" for each in warnings]
    data = {"job": order.job, "spec": job.spec, "plan": plan, "warnings": warnings, "verdict": verdict.document}
    tool.answer("submit-plan", data, lambda: [*lines, f"  {verdict.line}"])
    return verdict.exit_code
