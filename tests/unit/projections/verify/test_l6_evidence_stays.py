"""L6: an older look never overwrites a newer one, an end stays: what believed otherwise is found."""

from __future__ import annotations

from streams.messages.reasons import Reason
from streams.messages.values import (
    Cause,
    CauseKind,
    Outcome,
    Phase,
    ReplyOutcome,
    Verb,
)
from tests.unit.projections.story import (
    CRASHED,
    NODES,
    PREEMPTED,
    STOPPED,
    launched,
    run_once,
)
from tests.unit.projections.verify.judged import laws, only

UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED


def test_a_find_that_read_what_was_not_yet_there_is_found() -> None:
    story, ref = launched()
    folded = story.revision
    story.seen((ref, Phase.QUEUED), read_revision=folded + 40)
    assert only(story, "L6") == (
        f"a Find says that r{folded + 40} was read before it, but its writer had folded r{folded}"
    )


def test_opening_a_run_whose_end_an_older_look_hides_is_found() -> None:
    story, ref = launched()
    story.later(100).ended(ref, cause=STOPPED).seen((ref, Phase.GATED), as_of=story.after(-50))
    number = len(story.entries)
    story.call(Verb.OPEN, ref, run=0)
    assert only(story, "L6") == f"begins run 0 of 88213, which was seen ended; #{number} is an older look"


def test_a_requeue_that_names_a_run_which_a_newer_one_has_followed_is_found() -> None:
    story, ref = run_once(cause=CRASHED)
    story.requeue_authorized(ref, 0).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0).replied()
    story.later(15).seen((ref, Phase.GATED, 1)).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0)
    assert only(story, "L6") == "requeue of 88213 run 0, but run 1 of it has been seen"


def test_answering_the_run_after_which_an_object_came_back_to_its_gate_is_lawful() -> None:
    story, ref = launched()
    story.opened(ref).later(60).running(ref).later(60).seen((ref, Phase.GATED, 1)).ceased(ref)
    assert laws(story.requeue_authorized(ref, 0).opened(ref, 1)) == ()
    story.later(60).seen((ref, Phase.QUEUED, 1)).requeue_authorized(ref, 0, rule="preempted", cause=None)
    assert "L6" in laws(story)


def test_a_cause_that_only_an_older_look_had_is_found() -> None:
    story, ref = launched()
    story.opened(ref).later(60).running(ref).later(60).ended(ref, cause=PREEMPTED, nodes=NODES)
    older = story.look(ref, Phase.ENDED, cause=CRASHED, nodes=NODES)
    story.seen(older, as_of=story.after(-30)).outcome(Outcome.FAILED, cause=CRASHED, rule="rest")
    assert only(story, "L6") == "says exit-code, which only an older look at 88213 had"


def test_a_cause_refined_by_accounting_is_lawful() -> None:
    story, ref = launched()
    unsure = Cause(kind=CauseKind.UNKNOWN, final=False)
    story.opened(ref).later(60).running(ref).later(60).ended(ref, cause=unsure, nodes=NODES)
    story.later(30).ended(ref, cause=CRASHED, nodes=NODES)
    assert laws(story.outcome(Outcome.FAILED, cause=CRASHED, rule="rest")) == ()
