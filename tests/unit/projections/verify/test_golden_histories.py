"""The golden histories are judged as on the day they were written, and every released event type is among them."""

from __future__ import annotations

from typing import get_args

import pytest

from projections import jsonl
from projections.timeline import timeline
from projections.verify import verify
from streams.messages.events import Envelope, Event
from tests.histories.golden import BROKEN, LAWFUL, history, path_of


@pytest.mark.parametrize("name", LAWFUL)
def test_a_lawful_golden_history_breaks_no_law(name: str) -> None:
    assert verify(history(name)).broken == ()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_golden_history_breaks_exactly_the_law_it_is_named_for(name: str) -> None:
    assert verify(history(name)).broken_laws == (BROKEN[name],)


@pytest.mark.parametrize("name", [*LAWFUL, *BROKEN])
def test_a_golden_history_is_written_again_byte_for_byte_and_told_line_by_line(name: str) -> None:
    entries = history(name)
    assert b"".join(map(jsonl.dump_line, entries)) == path_of(name).read_bytes()
    assert [line.number for line in timeline(entries)] == list(range(1, len(entries) + 1))


def test_every_released_event_type_is_in_a_golden_history() -> None:
    seen = {
        type(entry.content.event) for name in LAWFUL for entry in history(name) if isinstance(entry.content, Envelope)
    }
    assert seen == set(get_args(Event))


def test_there_is_a_broken_golden_history_of_every_law_that_a_history_can_show() -> None:
    assert set(BROKEN.values()) == set(verify(()).holds)
