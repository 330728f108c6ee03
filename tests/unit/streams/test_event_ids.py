from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from streams.messages.event_ids import RANDOM_BYTES, event_id

AT = datetime(2026, 11, 28, 21, 14, tzinfo=UTC)
NONE = bytes(RANDOM_BYTES)
ALL = b"\xff" * RANDOM_BYTES


def test_ids_sort_by_time_then_by_randomness() -> None:
    later = AT + timedelta(milliseconds=1)
    ids = [event_id(AT, NONE), event_id(AT, b"\x01" + NONE[1:]), event_id(AT, ALL), event_id(later, NONE)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 4


def test_an_id_has_26_characters_whatever_the_time() -> None:
    for at in (datetime(1970, 1, 1, tzinfo=UTC), AT, datetime(9999, 12, 31, tzinfo=UTC)):
        assert len(event_id(at, ALL)) == 26
    assert event_id(datetime(1970, 1, 1, tzinfo=UTC), NONE) == "0" * 26


def test_the_zone_does_not_matter() -> None:
    assert event_id(AT.astimezone(timezone(timedelta(hours=9))), NONE) == event_id(AT, NONE)


def test_a_time_without_a_zone_and_a_wrong_length_are_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        event_id(AT.replace(tzinfo=None), NONE)
    with pytest.raises(ValueError, match="random bytes"):
        event_id(AT, b"")
    with pytest.raises(ValueError, match="cannot hold"):
        event_id(datetime(1969, 12, 31, tzinfo=UTC), NONE)
