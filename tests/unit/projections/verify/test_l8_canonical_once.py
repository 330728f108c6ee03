"""L8: the canonical object is committed once: each other choice is found."""

from __future__ import annotations

from streams.messages.values import (
    AttemptRef,
    Disposition,
    Phase,
    ReplyOutcome,
)
from tests.unit.projections.story import (
    STOPPED,
    Story,
    both_gated,
)
from tests.unit.projections.verify.judged import laws, only

UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED


def test_a_second_canonical_object_of_one_submission_is_found() -> None:
    story, one, two = both_gated()
    assert only(story.canonical(one).canonical(two, 1, 2), "L8") == "submission 1 already has canonical 88543"


def test_a_canonical_object_that_is_not_the_lowest_attempt_shown_is_found() -> None:
    story, _, two = both_gated()
    assert only(story.canonical(two, 1, 2), "L8") == "88544 of attempt 2 is canonical, but 88543 of 1 is shown"


def test_an_object_that_ended_before_the_choice_still_decides_its_submission() -> None:
    story = Story().submitted().later(1).authorized().attempt().later(30).replied(UNKNOWN).attempt(1, 2)
    one, two = story.ref("88543"), story.ref("88544", 1, 2)
    ended = story.look(one, Phase.ENDED, cause=STOPPED)
    story.later(9).seen(ended, (two, Phase.GATED)).canonical(two, 1, 2)
    assert only(story, "L8") == "88544 of attempt 2 is canonical, but 88543 of 1 is shown"


def test_a_lower_attempt_that_is_no_longer_shown_is_passed_over_lawfully() -> None:
    story, one, two = both_gated()
    assert laws(story.later(60).seen(missing=(one,)).canonical(two, 1, 2)) == ()


def test_choosing_an_object_that_no_find_has_shown_is_found() -> None:
    story = Story().submitted().later(1).authorized().attempt()
    ref = story.ref("88213")
    assert only(story.replied(object=ref).canonical(ref), "L8") == "88213 is canonical, but no Find has shown it"


def test_retiring_the_canonical_object_is_found() -> None:
    story, one, _ = both_gated()
    assert only(story.canonical(one).retired(one), "L8") == "88543 is canonical and was retired"


def test_retiring_before_the_choice_is_found() -> None:
    story, _, two = both_gated()
    assert only(story.retired(two, 1, 2), "L8") == "88544 was retired before submission 1 has a canonical object"


def test_choosing_an_object_for_an_attempt_that_did_not_make_it_is_found() -> None:
    story, one, _ = both_gated()
    assert "88543 is canonical of 1/2, which did not make it" in only(story.canonical(one, 1, 2), "L8")
    retired, one, two = both_gated()
    retired.disposed(AttemptRef(submission=1, attempt=2), Disposition.GONE, as_of=retired.at).retired(two, 1, 2)
    retired.seen(missing=(one,)).canonical(two, 1, 2)
    assert only(retired, "L8") == "88544 is canonical, but it was retired"
