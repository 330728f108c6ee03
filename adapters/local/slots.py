"""Which opened objects may begin: in order of opening, one slot a rank, nobody overtaken. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """One object whose gate is open and whose run has not begun."""

    id: str
    ranks: int
    opened_at: datetime
    held: bool = False


def in_order(waiting: Sequence[Waiting], *, slots: int) -> tuple[Waiting, ...]:
    """The queue: held objects and those that this host can never hold stand aside and keep nobody waiting."""
    able = (one for one in waiting if not one.held and one.ranks <= slots)
    return tuple(sorted(able, key=lambda one: (one.opened_at, one.id)))


def may_begin(waiting: Sequence[Waiting], *, slots: int, taken: int) -> tuple[Waiting, ...]:
    """The head of the queue, as far as it fits: a small object behind a large one waits, so none starves."""
    begun = []
    for one in in_order(waiting, slots=slots):
        taken += one.ranks
        if taken > slots:
            break
        begun.append(one)
    return tuple(begun)


def why_waiting(one: Waiting, waiting: Sequence[Waiting], *, slots: int, taken: int) -> tuple[str, int | None]:
    """Why this object does not begin, in one sentence, and its place in the queue (1: next)."""
    if one.held:
        return "held", None
    if one.ranks > slots:
        return f"needs {one.ranks} slots, this host has {slots}", None
    place = in_order(waiting, slots=slots).index(one) + 1
    return f"waits for slots: needs {one.ranks}, {max(slots - taken, 0)} of {slots} free", place
