"""`--submission N`: the status of a job without what concerns its other submissions."""

from __future__ import annotations

from msgspec.structs import replace

from dispatch.cli.errors import CliError
from dispatch.cli.views.frame import Frame
from projections.status import Status


def only(told: Status, frame: Frame, number: int) -> Status:
    """The status with the objects, attempts and executions of one submission. Raises CliError (3)."""
    record = frame.record
    if record.submission(number) is None:
        count = len(record.submissions)
        raise CliError(
            f"{told.job} has no submission {number}",
            why=f"it has {'none yet' if not count else f'1 to {count}'}",
            code="no-such-object",
        )
    mine = {(ref.id, ref.created) for ref, held in record.objects.items() if held.submission == number}
    return replace(
        told,
        submissions=tuple(each for each in told.submissions if each.n == number),
        objects=tuple(each for each in told.objects if (each.id, each.uid) in mine),
        executions=tuple(each for each in told.executions if each.id.startswith(f"{number}.")),
    )
