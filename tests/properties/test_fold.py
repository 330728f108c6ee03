"""Laws of the fold, over any history at all."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from projections.controls import Controls, fold_controls
from projections.evolve import empty, evolve, fold
from projections.record import Record
from projections.recorded import last_recorded_find
from projections.regression import regressed
from projections.settled import settled
from projections.sightings import Look, see
from streams.messages.events import Entry
from streams.messages.values import Found, Phase, Sighting
from tests.properties import anything
from tests.unit.dispatch.scene import PLAIN

BOUNDED = settings(max_examples=300)


def folded(history: tuple[Entry, ...]) -> Record:
    return fold(empty(anything.TENANT, anything.JOB), history)


@BOUNDED
@given(history=anything.histories, at=st.integers(0, 24))
def test_a_fold_may_be_split_anywhere_and_carried_on(history: tuple[Entry, ...], at: int) -> None:
    """L11: one replica's fold, carried on by another, is the whole one's."""
    assert fold(folded(history[:at]), history[at:]) == folded(history)
    assert fold(folded(history[:at]), history) == folded(history)


@BOUNDED
@given(history=anything.histories, found=anything.finds)
def test_no_history_that_can_be_decoded_makes_the_fold_or_its_readers_raise(
    history: tuple[Entry, ...], found: Found
) -> None:
    """L15."""
    record = folded(history)
    assert record.number == len(history)
    assert record.revision == (history[-1].revision if history else 0)
    settled(record, found, PLAIN)
    settled(record, None, None)
    regressed(record, found, "main")
    last_recorded_find(record)
    fold_controls(Controls(), history)


@BOUNDED
@given(history=anything.histories, place=st.integers(0, 23))
def test_a_repeated_message_changes_nothing_but_revision_and_number(history: tuple[Entry, ...], place: int) -> None:
    """R22."""
    record = folded(history)
    repeated = [entry for entry in history if hasattr(entry.content, "id")]
    if not repeated:
        return
    again = replace(repeated[place % len(repeated)], revision=record.revision + 5)
    assert evolve(record, again) == replace(record, revision=record.revision + 5, number=record.number + 1)


@BOUNDED
@given(history=anything.histories, seen=anything.sightings, ago=st.integers(1, 40))
def test_an_older_look_changes_nothing_but_an_end(history: tuple[Entry, ...], seen: Sighting, ago: int) -> None:
    """L6: whatever the order in which looks arrive."""
    record = folded(history)
    held = record.objects.get(seen.object)
    if held is None or held.as_of is None:
        return
    as_of = held.as_of.replace(microsecond=0) - timedelta(seconds=ago)
    after = see(record, seen, Look(as_of, record.revision, record.revision + 1, as_of))
    assert replace(after, runs=()) == replace(held, runs=())
    if seen.phase is not Phase.ENDED:
        assert after == held
    others = [run for run in held.runs if run.run != seen.run]
    assert [run for run in after.runs if run.run != seen.run] == others


@BOUNDED
@given(history=anything.histories)
@example(history=())
def test_what_was_decided_for_good_stays(history: tuple[Entry, ...]) -> None:
    """A cancel, a choice, a settlement, a used key, an end that was seen: nothing takes them back (L2, L7, L8)."""
    record = empty(anything.TENANT, anything.JOB)
    for entry in history:
        after = evolve(record, entry)
        assert after.keys >= record.keys
        assert after.calls_made >= record.calls_made
        assert after.settled or not record.settled
        assert record.cancel is None or (after.cancel is not None and after.cancel.revision == record.cancel.revision)
        assert record.cancel is None or not record.cancel.complete or (after.cancel and after.cancel.complete)
        assert len(after.submissions) >= len(record.submissions)
        for before, now in zip(record.submissions, after.submissions, strict=False):
            assert before.canonical in (None, now.canonical)
        for ref, held in record.objects.items():
            ended = {run.run for run in held.runs if run.ended}
            assert ended <= {run.run for run in after.objects[ref].runs if run.ended}
            assert after.objects[ref].retired or not held.retired
        record = after
