"""One wait before it is told: its five parts, and how long it may last before it needs a person."""

from __future__ import annotations

from datetime import datetime, timedelta

from projections.record import Record
from projections.status.view import Can, Nature, Wait
from streams.messages.values import Value

PATIENCE = timedelta(minutes=15)


class Waiting(Value, frozen=True, kw_only=True):
    """A wait. `patience`: after so long since it began, one that should end by itself needs a person.

    `momentary`: the next pass ends it, so it is told only where there is no other.
    """

    what: str
    nature: Nature = Nature.BY_ITSELF
    since: datetime | None = None
    because: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    can: tuple[Can, ...] = ()
    law: str | None = None
    patience: timedelta | None = None
    momentary: bool = False

    @property
    def person_at(self) -> datetime | None:
        """When it begins to need a person, if it has not ended by then."""
        if self.nature.needs_person:
            return self.since
        return None if self.patience is None or self.since is None else self.since + self.patience

    def told(self, now: datetime) -> Wait:
        """The wait as it is at `now`."""
        nature = self.nature
        if self.patience is not None and self.since is not None and now >= self.since + self.patience:
            nature = Nature.NEEDS_A_PERSON
        return Wait(
            what=self.what,
            nature=nature,
            since=self.since,
            because=self.because,
            ends=self.ends,
            can=self.can,
            law=self.law,
        )


def cancel(record: Record, effect: str = "final") -> tuple[Can, ...]:
    """The line that cancels the job, while it can still be cancelled."""
    if record.over:
        return ()
    return (Can(command=f'dispatch cancel {record.job} --reason "…"', effect=effect, risk="cannot be undone"),)


def dispose(record: Record, target: str, disposition: str, effect: str, risk: str = "") -> Can:
    """The line by which a person decides about one target."""
    return Can(
        command=f'dispatch dispose {record.job} {target} --as {disposition} --reason "…"', effect=effect, risk=risk
    )
