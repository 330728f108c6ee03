"""What a verdict says, and that every lawful history is called lawful."""

from __future__ import annotations

import pytest

from projections.verify import verify
from projections.verify.verdict import JUDGED, Verdict
from streams.messages.reasons import Reason
from streams.messages.values import Disposition, Phase, Verb
from tests.unit.projections.lawful import LAWFUL, crash_and_requeue, requeued_by_the_site
from tests.unit.projections.story import NODES, PREEMPTED, launched, next_submission


@pytest.mark.parametrize("name", LAWFUL)
def test_a_lawful_history_breaks_no_law(name: str) -> None:
    verdict = verify(LAWFUL[name]().entries)
    assert verdict.broken == ()
    assert verdict.holds == JUDGED


@pytest.mark.parametrize("name", LAWFUL)
def test_no_beginning_of_a_lawful_history_breaks_a_law(name: str) -> None:
    entries = LAWFUL[name]().entries
    assert [verify(entries[:length]).broken for length in range(len(entries))] == [()] * len(entries)


def test_a_verdict_says_how_many_laws_hold_and_which_a_history_cannot_show() -> None:
    story = crash_and_requeue()
    verdict = verify(story.entries)
    first, last = story.entries[0].revision, story.entries[-1].revision
    assert verdict.lines == (
        f"22 events, r{first}-r{last}   11 laws hold, 0 broken, 4 n/a (L11 L12 L13 L14)",
        "executions 1.0, 1.1, never both",
    )


def test_a_breach_names_its_law_its_event_and_what_is_wrong() -> None:
    story, _ = launched()
    story.replied(call=9)
    (breach,) = verify(story.entries).broken
    assert breach.revision == story.revision
    assert breach.line == f"BROKEN L7  #7 call 9 replied, but no intent for it before r{story.revision}"


def test_a_run_that_the_record_did_not_authorize_is_named_so() -> None:
    assert verify(requeued_by_the_site().entries).story == (
        "executions 1.0, 1.1 (unauthorized, 88213), 2.0, never two at once"
    )


def test_two_executions_seen_alive_at_once_are_told_even_where_a_persons_word_let_the_second_begin() -> None:
    story, first = launched()
    story.opened(first).later(60).running(first).later(60).seen(missing=(first,)).disposed(first, Disposition.GONE)
    story.authorized(2, "person", "person/c-9").attempt(2)
    second = story.later(1).made("88543", 2)
    story.canonical(second, 2).opened(second).later(60).running(second).later(5).running(first)
    verdict = verify(story.entries)
    assert verdict.story == "executions 1.0, 2.0, at once: 1.0 and 2.0"
    assert verdict.lawful


def test_two_executions_at_once_that_a_decision_let_happen_break_l4() -> None:
    story, first = launched()
    story.opened(first).later(60).running(first)
    story.later(60).seen(story.look(first, Phase.ENDING, cause=PREEMPTED, nodes=NODES))
    second = next_submission(story, 2, "person", PREEMPTED, "88543")
    story.opened(second).later(60).running(second)
    verdict = verify(story.entries)
    assert verdict.broken_laws == ("L4",)
    assert verdict.story == "executions 1.0, 2.0, at once: 1.0 and 2.0"


def test_what_no_execution_came_of_says_so() -> None:
    assert verify(()).story == "no execution"
    assert verify(()) == Verdict()


def test_a_stop_of_a_run_without_leave_is_all_that_is_asked_for() -> None:
    story, ref = launched()
    story.later(9).running(ref).call(Verb.STOP, ref, Reason.UNAUTHORIZED_RUN)
    assert verify(story.entries).lawful
