"""Whether a job fits the cluster it is for, as far as that is known here; told with the file's own lines."""

from __future__ import annotations

from collections.abc import Iterator

from dispatch.jobfile import JobFile, JobFileError, Mistake
from streams.messages.calls import Capabilities
from streams.messages.checks import cluster_faults
from streams.messages.plan import PlanAction


def check_fits(job: JobFile, able: Capabilities, source: str) -> None:
    """Return if this cluster can do what the job asks. Raises JobFileError with every mistake."""
    mistakes = list(_unfit(job, able))
    if mistakes:
        raise JobFileError(source, mistakes)


def _unfit(job: JobFile, able: Capabilities) -> Iterator[Mistake]:
    cluster = job.spec.cluster
    if able.kind == "local" and job.spec.nodes > 1:
        yield job.mistake("nodes", f"{cluster} is one machine, {job.spec.nodes} are asked for", "write nodes: 1")
    for fault in cluster_faults(job.spec, able):
        what, _, fix = fault.sentence.partition("; ")
        yield job.mistake(fault.path, what, fix)
    for number, rule in enumerate(job.plan.rules if job.plan is not None else ()):
        if rule.do is PlanAction.REQUEUE and not able.requeue_of:
            yield job.mistake(f"recovery[{number}].do", f"{cluster} cannot requeue", "use resubmit")
