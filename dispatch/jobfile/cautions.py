"""What a job file may say, and seldom should: told before a submit, never refused."""

from __future__ import annotations

from dispatch.jobfile import JobFile
from dispatch.jobfile.mistakes import Mistake

LATEST = "latest"


def cautions(job: JobFile) -> tuple[Mistake, ...]:
    """Everything of that kind, each with its line and what to write instead."""
    image = job.spec.run.image
    if image is None or not moves(image):
        return ()
    said = "" if image.endswith(f":{LATEST}") else f" (no tag means {LATEST})"
    what = f"{image}{said} may be another image by the next run of this job"
    return (job.mistake("run.image", what, "name a version or a digest"),)


def moves(image: str) -> bool:
    """Whether the name means whatever was pushed last: the tag `latest`, or none, which is the same; not a digest."""
    tag = image.rpartition("/")[2].partition(":")[2]
    return "@" not in image and tag in {"", LATEST}
