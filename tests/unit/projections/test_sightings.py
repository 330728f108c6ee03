"""How evidence of objects changes what is recorded: looks old and new, ends, second lives, word on processes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from projections.evolve import empty, fold
from projections.objects import ObjectRecord, RunRecord
from projections.sightings import waiting_nodes
from streams.messages.reasons import Reason
from streams.messages.values import (
    Cause,
    CauseKind,
    CessationAnswer,
    CessationBasis,
    HoldSeen,
    NodeState,
    ObjectRef,
    Phase,
    Verb,
)
from tests.unit.projections.story import (
    CALL_BOUND_S,
    COMPLETED,
    CRASHED,
    NODES,
    PREEMPTED,
    STOPPED,
    Story,
    launched,
)

MAY_RUN, OPERATOR, PRESUMED = CessationAnswer.MAY_RUN, CessationBasis.OPERATOR, CessationBasis.PRESUMED


def held(story: Story, ref: ObjectRef) -> ObjectRecord:
    return fold(empty(story.tenant, story.job), story.entries).objects[ref]


def run(story: Story, ref: ObjectRef, number: int = 0) -> RunRecord:
    found = held(story, ref).run_record(number)
    assert found is not None
    return found


def running() -> tuple[Story, ObjectRef]:
    story, ref = launched()
    return story.opened(ref).later(30).running(ref).later(60), ref


# old and new looks


def test_a_sighting_of_our_tag_is_our_object_and_any_other_is_foreign() -> None:
    story, ref = launched()
    other = story.foreign("88213")
    story.seen((other, Phase.QUEUED))
    assert (held(story, ref).submission, held(story, ref).attempt, held(story, ref).foreign) == (1, 1, False)
    assert held(story, other).foreign


def test_an_older_look_changes_nothing_but_an_end() -> None:
    story, ref = running()
    before = held(story, ref)
    story.seen((ref, Phase.QUEUED), as_of=story.after(-80))
    assert held(story, ref) == before
    story.seen(story.look(ref, Phase.ENDED, cause=CRASHED), as_of=story.after(-70))
    after = held(story, ref)
    assert (after.phase, after.as_of, after.ended) == (Phase.RUNNING, before.as_of, False)
    assert run(story, ref).ended


def test_an_end_once_seen_for_a_run_stays() -> None:
    """Ended once."""
    story, ref = running()
    story.ended(ref, cause=CRASHED, nodes=NODES).later(9).seen((ref, Phase.QUEUED))
    assert run(story, ref).ended
    assert run(story, ref).cause == CRASHED
    assert not held(story, ref).ended, "it is alive again"


def test_a_run_number_never_falls_but_at_the_gate_where_it_is_only_promised() -> None:
    story, ref = running()
    story.seen((ref, Phase.RUNNING, 1)).later(9).seen((ref, Phase.QUEUED, 0))
    assert (held(story, ref).run, held(story, ref).phase) == (1, Phase.RUNNING)
    story, ref = running()
    story.seen((ref, Phase.GATED, 1)).later(9).running(ref, 0)
    assert (held(story, ref).run, held(story, ref).phase, held(story, ref).alive_again) == (0, Phase.RUNNING, True)


def test_an_absence_is_noted_and_taken_back_by_the_next_look() -> None:
    """R4, L9."""
    story, ref = running()
    story.seen(missing=(ref,))
    assert (held(story, ref).missing, held(story, ref).missing_at, held(story, ref).ended) == (True, story.at, False)
    story.later(9).running(ref)
    assert (held(story, ref).missing, held(story, ref).missing_at) == (False, None)


def test_an_absence_from_an_older_look_is_no_news() -> None:
    story, ref = running()
    assert not held(story.seen(missing=(ref,), as_of=story.after(-70)), ref).missing


def test_since_tells_when_phase_or_run_last_changed() -> None:
    story, ref = running()
    since = held(story, ref).since
    story.seen(story.look(ref, Phase.RUNNING, nodes=("n16",)))
    assert held(story, ref).since == since
    assert held(story.ended(ref, nodes=NODES), ref).since == story.at


# ends and causes


def test_a_cause_that_accounting_had_not_confirmed_is_refined_once() -> None:
    """R18."""
    story, ref = running()
    story.ended(ref, cause=replace(CRASHED, final=False)).later(30).ended(ref, cause=COMPLETED)
    assert run(story, ref).cause == COMPLETED
    story.later(30).ended(ref, cause=PREEMPTED)
    assert run(story, ref).cause == COMPLETED


def test_an_end_counts_only_from_a_find_begun_after_every_requeue_was_over() -> None:
    """A requeue on its way brings back what this Find shows ended."""
    story, ref = running()
    story.requeue_authorized(ref, 0, cause=None).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0)
    story.later(9).ended(ref, cause=CRASHED)
    assert not held(story, ref).ended
    before = story.revision
    story.replied().later(9).seen(story.look(ref, Phase.ENDED, cause=CRASHED), read_revision=before)
    assert not held(story, ref).ended, "read before the reply"
    assert held(story.ended(ref, cause=CRASHED), ref).ended


def test_a_requeue_without_a_reply_is_over_when_the_hosts_clock_has_passed_its_bound() -> None:
    """L10."""
    story, ref = running()
    story.requeue_authorized(ref, 0, cause=None).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0)
    story.later(CALL_BOUND_S + 29).ended(ref, cause=CRASHED)
    assert not held(story, ref).ended
    assert held(story.later(1).ended(ref, cause=CRASHED), ref).ended


def test_a_committed_requeue_takes_back_the_end_that_was_seen() -> None:
    story, ref = running()
    story.ended(ref, cause=CRASHED)
    assert held(story, ref).ended
    story.requeue_authorized(ref, 0).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0)
    assert not held(story, ref).ended


def test_a_higher_run_number_ends_every_earlier_run() -> None:
    story, ref = running()
    story.seen((ref, Phase.GATED, 1))
    assert run(story, ref).ended
    assert run(story, ref).cause == Cause(kind=CauseKind.UNKNOWN)
    assert not run(story, ref).proven, "its processes are still to be proven gone"


@pytest.mark.parametrize("verb", [Verb.REQUEUE, Verb.HOLD])
@pytest.mark.parametrize("back_as", [0, 1])
def test_a_run_that_our_own_call_ended_was_stopped_by_it(verb: Verb, back_as: int) -> None:
    """No Find shows the end of what is back at its gate at once."""
    story, ref = running()
    story.requeue_authorized(ref, 0, cause=None).call(verb, ref, Reason.REQUEUE_DUE, run=0).replied()
    story.seen((ref, Phase.GATED, back_as))
    assert run(story, ref).cause == Cause(kind=CauseKind.STOPPED, raw={"by": verb.value})


def test_the_cause_told_while_a_run_was_ending_is_kept_for_a_run_that_came_back_to_its_gate() -> None:
    story, ref = running()
    story.seen(story.look(ref, Phase.ENDING, cause=PREEMPTED)).later(9).seen((ref, Phase.GATED, 1))
    assert run(story, ref).cause == PREEMPTED


def test_the_cause_told_while_a_run_was_ending_gives_way_to_the_one_it_ended_with() -> None:
    story, ref = running()
    story.seen(story.look(ref, Phase.ENDING, cause=STOPPED)).later(9).ended(ref, cause=CRASHED)
    assert run(story, ref).cause == CRASHED


def test_a_launch_that_failed_is_told_by_the_hold_it_left() -> None:
    """R20."""
    story, ref = running()
    story.seen(story.look(ref, Phase.GATED, 1, hold=HoldSeen.LAUNCH_FAILED))
    assert run(story, ref).cause == Cause(kind=CauseKind.LAUNCH_FAILED)


def test_an_ended_run_with_nodes_may_have_left_processes_and_one_without_never_began() -> None:
    story, ref = launched()
    assert not run(story.ended(ref, cause=STOPPED), ref).begun
    story, ref = launched()
    assert run(story.ended(ref, cause=STOPPED, nodes=NODES), ref).begun


# a second life


def test_an_ended_object_that_is_alive_again_is_marked_until_it_ends() -> None:
    story, ref = running()
    story.ended(ref, cause=CRASHED).later(9).running(ref)
    assert held(story, ref).alive_again
    assert not held(story.later(9).ended(ref, cause=CRASHED), ref).alive_again


def test_what_was_proven_of_the_earlier_execution_covers_nothing_of_a_second_life() -> None:
    """L4."""
    story, ref = running()
    story.ended(ref, cause=CRASHED, nodes=NODES).later(5).ceased(ref)
    assert run(story, ref).proven
    story.later(9).running(ref)
    assert not run(story, ref).proven
    assert not run(story.later(9).ended(ref, cause=CRASHED, nodes=NODES), ref).proven


def test_a_word_from_before_the_second_life_that_arrives_late_changes_nothing() -> None:
    """L4, L6: evidence is never refused, and never covers a later execution."""
    story, ref = running()
    story.ended(ref, cause=CRASHED, nodes=NODES).later(5)
    asked_at = story.at
    story.later(9).running(ref).later(9).ended(ref, cause=CRASHED, nodes=NODES).later(9)
    story.ceased(ref, as_of=asked_at)
    assert not run(story, ref).proven
    assert run(story.ceased(ref), ref).proven


def test_an_open_takes_back_every_word_on_the_run_it_begins() -> None:
    """The Open before it was lost, and that nothing of the run lived was true then."""
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).later(CALL_BOUND_S + 31).seen(missing=(ref,)).ceased(ref)
    assert run(story, ref).proven
    story.later(9).seen((ref, Phase.GATED)).opened(ref)
    assert not run(story, ref).proven


@pytest.mark.parametrize("phase", [Phase.QUEUED, Phase.RUNNING, Phase.ENDING])
def test_a_look_that_shows_the_run_on_takes_back_an_earlier_word(phase: Phase) -> None:
    """L4: it was absent and had no process; then it is there."""
    story, ref = launched()
    story.opened(ref).later(5).seen(missing=(ref,)).ceased(ref)
    assert run(story, ref).proven
    assert not run(story.later(9).seen((ref, phase)), ref).proven


@pytest.mark.parametrize("nodes", [NODES, ()], ids=["on-nodes", "nodes-not-told"])
def test_an_end_seen_after_the_word_takes_it_back_where_the_run_was_never_seen_to_start(nodes: tuple[str, ...]) -> None:
    story, ref = launched()
    story.opened(ref).later(5).seen(missing=(ref,)).ceased(ref).later(9).ended(ref, cause=CRASHED, nodes=nodes)
    assert not run(story, ref).proven, "it may have begun after that word"


def test_an_end_seen_after_the_word_leaves_it_standing_where_the_run_had_been_seen_to_start() -> None:
    story, ref = running()
    story.seen(missing=(ref,)).ceased(ref, basis=OPERATOR).later(9).ended(ref, cause=CRASHED, nodes=NODES)
    assert run(story, ref).proven


# words on processes


def test_a_person_vouches_for_the_nodes_named_and_a_run_is_gone_when_each_of_its_nodes_is() -> None:
    """R6."""
    story, ref = running()
    story.ended(ref, cause=CRASHED, nodes=NODES)
    vouched: dict[str, Any] = {"basis": OPERATOR, "attested_by": "ana"}
    story.ceased(ref, nodes=(NodeState(node="n14", state="off"),), **vouched)
    assert (run(story, ref).proven, waiting_nodes(run(story, ref))) == (False, ("n15",))
    story.ceased(ref, nodes=(NodeState(node="n15", state="rebooted"),), **vouched)
    assert (run(story, ref).proven, run(story, ref).attested, run(story, ref).attested_by) == (True, NODES, "ana")


def test_a_person_need_vouch_only_for_nodes_where_something_may_run() -> None:
    story, ref = running()
    story.ended(ref, cause=CRASHED, nodes=NODES)
    story.ceased(ref, answer=MAY_RUN, nodes=(NodeState(node="n14"), NodeState(node="n15", may_run=("88213.0",))))
    assert waiting_nodes(run(story, ref)) == ("n15",)
    assert run(story.ceased(ref, basis=OPERATOR, nodes=(NodeState(node="n15"),)), ref).proven


def test_an_operators_word_without_nodes_is_for_the_whole_cluster() -> None:
    story, ref = running()
    assert run(story.ended(ref, cause=CRASHED, nodes=NODES).ceased(ref, basis=OPERATOR), ref).proven


@pytest.mark.parametrize("basis", [CessationBasis.OBSERVED, PRESUMED])
def test_a_run_is_gone_by_an_adapters_word_and_its_basis_is_kept(basis: CessationBasis) -> None:
    story, ref = running()
    story.ended(ref, cause=CRASHED, nodes=NODES).ceased(ref, basis=basis)
    assert (run(story, ref).proven, run(story, ref).basis) == (True, basis)


def test_may_run_proves_nothing() -> None:
    story, ref = running()
    assert not run(story.ended(ref, cause=CRASHED, nodes=NODES).ceased(ref, answer=MAY_RUN), ref).proven


def test_every_begun_run_has_to_be_proven_each_by_itself() -> None:
    story, ref = running()
    story.running(ref, 1).later(9).ended(ref, 1, CRASHED, nodes=NODES).ceased(ref, 1)
    assert [r.run for r in held(story, ref).unproven] == [0]
