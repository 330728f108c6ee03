"""What a person is told of one job: `status(record, around)`, from the record alone or with what is known beside it.

Never read for a decision. States, alerts and natures of waits have one spelling, here, on the wire and on screen.
"""

from __future__ import annotations

from projections.record import Record
from projections.settled import settled
from projections.status import tables
from projections.status.alerts import alerts_of
from projections.status.picture import Around, Picture
from projections.status.state import since_of, state_of
from projections.status.view import (
    SETTLED,
    Alert,
    AsOf,
    Can,
    ClauseView,
    Nature,
    SettledView,
    State,
    Status,
    Wait,
    document,
)
from projections.status.waits import Waiting, waitings

__all__ = [
    "SETTLED",
    "Alert",
    "Around",
    "Can",
    "Nature",
    "Picture",
    "State",
    "Status",
    "Wait",
    "Waiting",
    "document",
    "since_of",
    "state_of",
    "status",
    "waitings",
    "waits_of",
]


def status(record: Record, around: Around) -> Status:
    """Everything that is told of one job at this revision."""
    picture = Picture(record, around)
    alerts = alerts_of(picture)
    waits = waits_of(picture)
    return Status(
        job=record.job,
        state=picture.state,
        alerts=alerts,
        needs_person=any(a.needs_person for a in alerts) or any(w.nature.needs_person for w in waits),
        as_of=_as_of(picture),
        waits=waits,
        wanted=record.wanted,
        submissions=tables.submissions_of(picture),
        objects=tables.objects_of(picture),
        executions=tables.executions_of(picture),
        budgets=tables.budgets_of(picture),
        holds=tables.holds_of(picture),
        gate=tables.gate_of(picture),
        calls=tables.calls_of(picture),
        avoids=tables.avoids_of(picture),
        cancel=tables.cancel_of(picture),
        outcome=tables.outcome_of(picture),
        settled=settled_of(picture),
    )


def waits_of(picture: Picture) -> tuple[Wait, ...]:
    """What the job waits for: what needs a person first, else in the order of the next steps."""
    told = [w.told(picture.now) for w in waitings(picture)]
    return tuple(sorted(told, key=lambda wait: not wait.nature.needs_person))


def settled_of(picture: Picture) -> SettledView:
    """The clauses of settlement as this Find, or the last recorded one, shows them; a settled job's all hold."""
    record = picture.record
    clauses = tuple(
        ClauseView(name=c.name, holds=c.holds or record.settled, waits_for=() if record.settled else c.waits_for)
        for c in settled(record, picture.found, picture.capabilities)
    )
    return SettledView(holds=record.settled, clauses=clauses)


def _as_of(picture: Picture) -> AsOf:
    record, around = picture.record, picture.around
    live = around.found.as_of if around.found else None
    return AsOf(
        number=record.number,
        revision=record.revision,
        read_at=around.read_at or around.now,
        cluster_read_at=live or around.cluster_read_at or record.as_of,
    )
