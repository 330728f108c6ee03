"""Objects begin in the order of their opening, and none starves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from adapters.local.slots import Waiting, in_order, may_begin, why_waiting

OPENED = datetime(2026, 11, 30, tzinfo=UTC)


def waiting(id: str, ranks: int, after_s: int, *, held: bool = False) -> Waiting:
    return Waiting(id=id, ranks=ranks, opened_at=OPENED + timedelta(seconds=after_s), held=held)


LARGE, SMALL = waiting("large", 3, 1), waiting("small", 1, 2)


def test_the_first_to_be_opened_begins_first() -> None:
    assert [one.id for one in may_begin([SMALL, LARGE], slots=4, taken=0)] == ["large", "small"]


def test_a_small_object_does_not_overtake_a_large_one_that_waits_for_room() -> None:
    assert may_begin([SMALL, LARGE], slots=4, taken=2) == ()
    assert [one.id for one in may_begin([SMALL, LARGE], slots=4, taken=1)] == ["large"]


def test_held_objects_and_those_that_never_fit_keep_nobody_waiting() -> None:
    held, giant = waiting("held", 1, 0, held=True), waiting("giant", 9, 0)
    assert [one.id for one in may_begin([held, giant, SMALL], slots=4, taken=0)] == ["small"]


def test_each_is_told_why_it_waits_and_where() -> None:
    held, giant = waiting("held", 1, 0, held=True), waiting("giant", 9, 0)
    everyone = [held, giant, SMALL, LARGE]
    assert why_waiting(held, everyone, slots=4, taken=4) == ("held", None)
    assert why_waiting(giant, everyone, slots=4, taken=4) == ("needs 9 slots, this host has 4", None)
    assert why_waiting(LARGE, everyone, slots=4, taken=2) == ("waits for slots: needs 3, 2 of 4 free", 1)
    assert why_waiting(SMALL, everyone, slots=4, taken=6) == ("waits for slots: needs 1, 0 of 4 free", 2)


queues = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 9), st.booleans()), max_size=12).map(
    lambda rows: [waiting(str(n), ranks, at, held=held) for n, (ranks, at, held) in enumerate(rows)]
)


@given(queues, st.integers(1, 6), st.integers(0, 8))
def test_what_begins_is_the_head_of_the_queue_and_fits(queue: list[Waiting], slots: int, taken: int) -> None:
    begun = may_begin(queue, slots=slots, taken=taken)
    assert begun == in_order(queue, slots=slots)[: len(begun)]
    assert not begun or taken + sum(one.ranks for one in begun) <= slots


@given(queues, st.integers(1, 6))
def test_an_idle_host_with_a_queue_begins_something(queue: list[Waiting], slots: int) -> None:
    assert bool(may_begin(queue, slots=slots, taken=0)) == bool(in_order(queue, slots=slots))
