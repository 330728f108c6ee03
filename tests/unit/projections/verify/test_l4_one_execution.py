"""L4: never two executions at once: each gate opened too early is found."""

from __future__ import annotations

from streams.messages.reasons import Reason
from streams.messages.values import (
    CessationAnswer,
    CessationBasis,
    NodeState,
    ObjectRef,
    Phase,
    Verb,
)
from tests.unit.projections.story import (
    CALL_BOUND_S,
    CRASHED,
    NODES,
    PREEMPTED,
    Story,
    launched,
    next_submission,
    run_once,
)
from tests.unit.projections.verify.judged import laws, only


def second_gated() -> tuple[Story, ObjectRef, ObjectRef]:
    """Submission 1 has ended, nothing is known of its processes; submission 2 waits at its gate."""
    story, first = launched()
    story.opened(first).later(60).running(first).later(60).ended(first, cause=PREEMPTED, nodes=NODES)
    return story, first, next_submission(story, 2, "preempted", PREEMPTED, "88543")


def test_opening_the_next_submission_before_the_last_is_proven_gone_is_found() -> None:
    story, _, second = second_gated()
    assert only(story.call(Verb.OPEN, second, run=0), "L4") == (
        "open of 88543 run 0 committed, but processes of 88213 run 0 are not proven gone"
    )


def test_a_word_that_processes_may_run_is_no_proof() -> None:
    story, first, second = second_gated()
    story.ceased(first, answer=CessationAnswer.MAY_RUN, basis=CessationBasis.OBSERVED)
    assert "not proven gone" in only(story.call(Verb.OPEN, second, run=0), "L4")


def test_an_operators_word_on_one_of_two_nodes_is_no_proof_and_on_both_it_is() -> None:
    story, first, second = second_gated()
    story.ceased(first, basis=CessationBasis.OPERATOR, nodes=(NodeState(node="n14", state="off"),))
    assert "not proven gone" in only(story.call(Verb.OPEN, second, run=0), "L4")
    both, first, second = second_gated()
    for node in NODES:
        both.ceased(first, basis=CessationBasis.OPERATOR, nodes=(NodeState(node=node, state="off"),))
    assert laws(both.call(Verb.OPEN, second, run=0)) == ()


def test_a_word_spoken_before_the_run_began_is_no_proof() -> None:
    story, first = launched()
    story.ceased(first).later(9).opened(first).later(60).ended(first, cause=PREEMPTED)
    second = next_submission(story, 2, "preempted", PREEMPTED, "88543")
    assert "processes of 88213 run 0 are not proven gone" in only(story.call(Verb.OPEN, second, run=0), "L4")


def test_a_word_spoken_before_the_run_was_seen_alive_again_is_no_proof() -> None:
    story, first, second = second_gated()
    story.ceased(first).later(60).running(first).call(Verb.STOP, first, Reason.UNAUTHORIZED_RUN).replied()
    story.later(60).ended(first, cause=PREEMPTED, nodes=NODES)
    assert "processes of 88213 run 0 are not proven gone" in only(story.call(Verb.OPEN, second, run=0), "L4")


def test_opening_while_another_object_is_merely_absent_is_found() -> None:
    story, first = launched()
    story.opened(first).later(60).running(first).later(60).seen(missing=(first,)).ceased(first)
    story.authorized(2, "person", "person/c-9").attempt(2)
    second = story.later(1).made("88543", 2)
    story.canonical(second, 2)
    assert only(story.call(Verb.OPEN, second, run=0), "L4") == (
        "open of 88543 run 0 committed, but 88213 is absent, which is no end"
    )


def test_opening_while_a_foreign_object_runs_is_found() -> None:
    story, ref = launched()
    story.later(9).running(story.foreign()).call(Verb.OPEN, ref, run=0)
    assert only(story, "L4") == "open of 88213 run 0 committed, but 90112 is running"


def test_opening_while_a_requeue_may_still_land_is_found() -> None:
    story, ref = run_once(cause=CRASHED)
    story.requeue_authorized(ref, 0).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0)
    story.later(15).seen((ref, Phase.GATED, 1)).call(Verb.OPEN, ref, run=1)
    assert only(story, "L4") == "open of 88213 run 1 committed while call 3 (requeue) may still land"


def test_opening_the_next_run_of_an_object_before_its_last_run_is_proven_gone_is_found() -> None:
    story, ref = launched()
    story.opened(ref).later(60).running(ref).later(60).ended(ref, cause=CRASHED, nodes=NODES)
    story.requeue_authorized(ref, 0).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0).replied()
    story.later(15).seen((ref, Phase.GATED, 1)).call(Verb.OPEN, ref, run=1)
    assert only(story, "L4") == "open of 88213 run 1 committed, but processes of its run 0 are not proven gone"


def test_an_end_seen_by_a_find_that_began_before_a_requeue_was_over_does_not_count() -> None:
    story, first = run_once(cause=CRASHED)
    story.requeue_authorized(first, 0).call(Verb.REQUEUE, first, Reason.REQUEUE_DUE, run=0)
    story.later(5).ended(first, cause=CRASHED, nodes=NODES).later(CALL_BOUND_S + 30)
    story.authorized(2, "person", "person/c-9").attempt(2)
    second = story.later(1).made("88543", 2)
    story.canonical(second, 2).call(Verb.OPEN, second, run=0)
    assert only(story, "L4") == "open of 88543 run 0 committed, but 88213 is ended"


def test_opening_a_run_that_had_begun_by_itself_and_came_back_to_its_gate_unproven_is_found() -> None:
    story = Story("bert-2").submitted().later(1).authorized().attempt()
    ref = story.ref("bert-2")
    story.replied(object=ref).later(9).seen((ref, Phase.GATED, 1)).canonical(ref)
    story.later(60).seen(story.look(ref, Phase.ENDING, 1, nodes=("gpu-04",))).later(60).seen((ref, Phase.GATED, 1))
    story.call(Verb.OPEN, ref, run=1)
    assert only(story, "L4") == (
        "open of bert-2 run 1 committed, but run 1 of it ran before it came back to its gate, and is not proven gone"
    )


def test_opening_the_next_run_of_an_object_that_still_runs_is_found() -> None:
    story, ref = launched()
    story.opened(ref).later(60).running(ref).call(Verb.OPEN, ref, run=1)
    assert only(story, "L4") == "open of 88213 run 1 committed, but run 0 was last seen running"
