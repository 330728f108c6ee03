"""Whether a job may be settled: one clause a line, each with what it waits for (L3).

`dispatch why` prints the clauses that do not hold; `next_steps` settles when all do.
"""

from __future__ import annotations

from typing import NamedTuple

from projections.instants import stamp
from projections.intents import start_over
from projections.record import Record
from streams.messages.calls import Capabilities
from streams.messages.spec import Unmatched
from streams.messages.values import Found, ObjectRef, Phase, Sighting


class Clause(NamedTuple):
    """One condition of settlement: its name, whether it holds, and the things it waits for."""

    name: str
    holds: bool
    waits_for: tuple[str, ...] = ()


def settled(record: Record, found: Found | None, capabilities: Capabilities | None) -> tuple[Clause, ...]:
    """Every clause of settlement. `found` None: nothing was ever asked of a cluster for this job."""
    decided = Clause("an outcome is committed", record.over, () if record.over else ("the job is still wanted",))
    if found is None or capabilities is None:
        never = not record.submissions and not record.objects and record.submitted is None
        return (decided, Clause("no cluster was ever asked", never))
    shown = {s.object: s for s in found.sightings}
    return (
        decided,
        _ended(record, shown, capabilities),
        _processes_gone(record),
        _find_clean(record, shown),
        _no_foreign(record, shown),
        _none_stuck(record),
        _none_unmatched(record),
        _starts_over(record, found),
        _calls_over(record, found),
        _cancel_complete(record),
    )


def holds(clauses: tuple[Clause, ...]) -> bool:
    return all(c.holds for c in clauses)


def _clause(name: str, waits_for: list[str]) -> Clause:
    return Clause(name, not waits_for, tuple(waits_for))


def _ended(record: Record, shown: dict[ObjectRef, Sighting], capabilities: Capabilities) -> Clause:
    waits = []
    for ref, held in record.objects.items():
        if held.ignored:
            continue
        sighting = shown.get(ref)
        if sighting is None:
            if not held.accounted:
                waits.append(f"{ref.id}: not shown, and never seen ended")
        elif sighting.phase is not Phase.ENDED or not held.ended:
            waits.append(f"{ref.id} is {sighting.phase.value}")
        elif capabilities.ended_runs_again and not sighting.end_final and not held.disposed_gone:
            waits.append(f"{ref.id} ended and can run again by itself until it is stopped")
    return _clause("every recorded object has ended", waits)


def _processes_gone(record: Record) -> Clause:
    waits = [
        f"{held.ref.id} run {run.run} may be alive on {', '.join(run.nodes) or 'its nodes'}"
        for held in record.objects.values()
        if not held.ignored
        for run in held.unproven
    ]
    return _clause("all processes are proven gone", waits)


def _find_clean(record: Record, shown: dict[ObjectRef, Sighting]) -> Clause:
    waits = [
        f"{ref.id} is {s.phase.value} and not recorded"
        for ref, s in shown.items()
        if s.phase is not Phase.ENDED and ref not in record.objects
    ]
    return _clause("the latest Find shows no other object", waits)


def _no_foreign(record: Record, shown: dict[ObjectRef, Sighting]) -> Clause:
    waits = [
        f"{held.ref.id} is foreign"
        for held in record.objects.values()
        if held.foreign and held.disposition is None and not (record.cancel is not None and held.accounted)
    ]
    waits += [f"{ref.id} is foreign" for ref, s in shown.items() if ref not in record.objects and s.tag is None]
    return _clause("no foreign object is undisposed", waits)


def _none_stuck(record: Record) -> Clause:
    waits = [
        f"submission {s.number}: every attempt is unknown"
        for s in record.submissions
        if s.canonical is None and s.attempts and all(a.unmatched for a in s.attempts)
    ]
    return _clause("no submission has every attempt unknown", waits)


def _none_unmatched(record: Record) -> Clause:
    manual = record.spec is not None and record.spec.unmatched is Unmatched.MANUAL
    waits = [f"attempt {a.submission}/{a.attempt}" for a in record.attempts if a.unmatched] if manual else []
    return _clause("no attempt is unmatched", waits)


def _starts_over(record: Record, found: Found) -> Clause:
    waits = [
        f"Start {a.submission}/{a.attempt} may land until {stamp(a.over_at)}"
        for a in record.attempts
        if not start_over(a, found.as_of, record.revision)
    ]
    return _clause("every Start is accounted for", waits)


def _calls_over(record: Record, found: Found) -> Clause:
    waits = [
        f"{c.verb.value} #{c.call} may land until {stamp(c.over_at)}"
        for c in record.calls.values()
        if not c.over(found.as_of)
    ]
    return _clause("every call is over", waits)


def _cancel_complete(record: Record) -> Clause:
    cancel = record.cancel
    waits = [] if cancel is None or cancel.complete else ["the second stop, and a Find begun after it"]
    return _clause("a cancel is complete", waits)
