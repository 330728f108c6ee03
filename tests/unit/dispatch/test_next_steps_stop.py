"""What must not run: retired objects, stops of the condemned, proof that a stop worked; and settlement."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from streams.messages import events
from streams.messages.events import StopVerified
from streams.messages.reasons import Reason
from streams.messages.values import (
    CessationAnswer,
    Disposition,
    ObjectRef,
    Phase,
    ReplyOutcome,
    StopBasis,
    Verb,
)
from tests.unit.dispatch.scene import KUEUE, LOCAL, PLAIN, SLURM, calls, only, opens, told
from tests.unit.projections.story import CALL_BOUND_S, COMPLETED, CRASHED, NODES, STOPPED, Story, launched, run_once

UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED


def running() -> tuple[Story, ObjectRef]:
    story, ref = launched()
    return story.opened(ref).later(30).running(ref).later(5), ref


# unauthorized runs


def test_a_run_without_a_committed_open_is_stopped() -> None:
    """L1, R7: opened by hand."""
    story, ref = launched()
    story.running(ref)
    assert told(story) == [("stop", Reason.UNAUTHORIZED_RUN)]
    assert calls(story, Verb.STOP)[0].object == ref


def test_an_object_whose_gate_was_lifted_by_hand_is_stopped_before_it_finds_nodes() -> None:
    """L1: it may begin before the next look, or wait for ever where its pods are fenced."""
    story, ref = launched()
    story.seen(story.look(ref, Phase.QUEUED))
    assert told(story) == [("stop", Reason.UNAUTHORIZED_RUN)]
    assert calls(story, Verb.STOP)[0].object == ref


def test_an_object_that_waits_for_quota_is_left_to_wait() -> None:
    """Kueue: it comes to its gate once it has its quota."""
    story, ref = launched()
    story.seen(story.look(ref, Phase.QUEUED, 1))
    assert told(story, KUEUE) == []
    assert told(story, PLAIN)[0] == ("stop", Reason.UNAUTHORIZED_RUN)


def test_an_object_that_was_opened_waits_in_its_queue_in_peace() -> None:
    story, ref = launched()
    story.opened(ref).seen(story.look(ref, Phase.QUEUED))
    assert told(story) == []


def test_a_run_number_that_rose_without_a_committed_requeue_is_stopped() -> None:
    """R7: Slurm requeued it by itself."""
    story, ref = running()
    story.seen(story.look(ref, Phase.RUNNING, 1, nodes=NODES))
    assert told(story)[0] == ("stop", Reason.UNAUTHORIZED_RUN)


def test_an_ended_object_that_runs_again_is_stopped() -> None:
    """Ended once: a failed TrainJob whose JobSet was deleted runs again under the same number."""
    story, ref = running()
    story.ended(ref, cause=CRASHED, nodes=NODES).later(9).running(ref)
    assert told(story)[0] == ("stop", Reason.UNAUTHORIZED_RUN)


def test_an_object_unsuspended_by_hand_at_its_next_gate_is_stopped() -> None:
    """At its gate it showed the number of its next run; run by hand it shows the one it has."""
    story, ref = launched()
    story.opened(ref, 1).later(9).running(ref, 1).later(9).seen((ref, Phase.GATED, 2)).later(9).running(ref, 1)
    assert told(story, PLAIN)[0] == ("stop", Reason.UNAUTHORIZED_RUN)


def test_a_retired_object_that_runs_is_stopped_as_unauthorized() -> None:
    story, ref = launched()
    story.retired(ref).opened(ref).running(ref)
    assert told(story)[0] == ("stop", Reason.UNAUTHORIZED_RUN)


def test_an_authorized_run_is_left_alone() -> None:
    story, _ = running()
    assert told(story) == []


# other reasons


def test_an_outcome_stops_whatever_is_still_alive() -> None:
    story, _ = running()
    assert told(story.outcome()) == [("stop", Reason.JOB_OVER)]


def test_a_foreign_object_is_never_stopped_on_our_own_authority() -> None:
    story, _ = running()
    story.seen((story.foreign(), Phase.RUNNING))
    assert told(story) == []
    assert [c.object for c in calls(story.outcome(), Verb.STOP)] != [story.foreign()]


def test_a_foreign_object_that_a_person_disposed_of_by_stop_is_stopped() -> None:
    story, _ = running()
    other = story.foreign()
    story.seen((other, Phase.QUEUED)).disposed(other, Disposition.STOP)
    assert told(story) == [("stop", Reason.DISPOSED_STOP)]
    assert calls(story, Verb.STOP)[0].object == other


def test_an_ignored_object_is_left_alone_whatever_becomes_of_the_job() -> None:
    story, _ = running()
    other = story.foreign()
    story.seen((other, Phase.RUNNING)).disposed(other, Disposition.IGNORE).cancelled()
    assert other not in [c.object for c in calls(story, Verb.STOP)]


def test_an_ignored_object_of_a_closed_submission_is_not_even_retired() -> None:
    story = Story().submitted().authorized().attempt()
    ref = story.ref("88213")
    story.replied(object=ref).later(9).seen(missing=(ref,)).disposed(ref, Disposition.IGNORE)
    story.later(9).seen((ref, Phase.GATED))
    assert "ObjectRetired" not in [name for name, _ in told(story)]
    assert calls(story, Verb.STOP) == []


def test_a_submission_given_up_for_the_next_by_a_person_is_stopped() -> None:
    story, ref = running()
    story.append(
        events.SubmissionAuthorized(submission=2, rule="person", budget_key="person/c-9", not_before_at=story.at),
        Reason.PERSON_RESUBMIT,
    )
    assert told(story)[0] == ("stop", Reason.PERSON_RESUBMIT)
    assert calls(story, Verb.STOP)[0].object == ref


def test_an_object_that_does_not_start_within_its_time_is_stopped_and_never_started() -> None:
    story = Story().submitted(start_within=1800)
    story, ref = launched(story)
    story.opened(ref).later(5).seen((ref, Phase.QUEUED))
    assert told(story.later(1794)) == []
    assert told(story.later(1)) == [("stop", Reason.START_WITHIN)]
    story.call(Verb.STOP, ref, Reason.START_WITHIN).replied().later(9).ended(ref, cause=STOPPED)
    outcome = only(events.OutcomeDecided, story.ceased(ref))
    assert outcome.cause.kind.value == "never-started"


def test_an_object_stopped_for_its_time_and_purged_never_started_either() -> None:
    story, ref = launched(Story().submitted(start_within=60))
    story.opened(ref).later(5).seen((ref, Phase.QUEUED)).later(60)
    story.call(Verb.STOP, ref, Reason.START_WITHIN).replied().later(9).seen(missing=(ref,)).verified(ref).ceased(ref)
    assert only(events.OutcomeDecided, story).cause.kind.value == "never-started"


def test_a_run_that_started_in_time_is_not_stopped_for_it() -> None:
    story, ref = launched(Story().submitted(start_within=60))
    story.opened(ref).later(30).running(ref)
    assert told(story.later(3600)) == []


def test_an_ended_object_that_can_run_again_by_itself_is_stopped_as_the_first_act() -> None:
    story, ref = launched()
    story.opened(ref, 1).later(9).running(ref, 1).later(99).ended(ref, 1, CRASHED, nodes=NODES)
    assert told(story, PLAIN)[0] == ("stop", Reason.CAN_RUN_AGAIN)
    assert calls(story, Verb.STOP, SLURM) == []
    story.ended(ref, 1, CRASHED, nodes=NODES, end_final=True)
    assert calls(story, Verb.STOP, PLAIN) == []


def test_an_object_that_is_ending_is_not_stopped_once_more() -> None:
    story, ref = running()
    story.outcome().seen((ref, Phase.ENDING))
    assert told(story) == []


# repeats


def test_a_stop_is_not_repeated_while_it_may_land() -> None:
    story, ref = running()
    story.outcome().call(Verb.STOP, ref, Reason.JOB_OVER)
    assert told(story.later(CALL_BOUND_S + 29)) == []
    assert told(story.later(1)) == [("stop", Reason.JOB_OVER)]


def test_a_stop_that_did_nothing_for_now_is_repeated_at_the_next_look() -> None:
    story, ref = running()
    story.outcome().call(Verb.STOP, ref, Reason.JOB_OVER).replied(REFUSED, retry=True)
    assert told(story.later(29)) == []
    assert told(story.later(1)) == [("stop", Reason.JOB_OVER)]


def test_stops_without_effect_fill_no_history() -> None:
    """R21: an object that no stop ends, for thirty days."""
    story, ref = running()
    story.outcome()
    began, stops = story.at, 0
    while (story.at - began).days < 30:
        if told(story):
            story.call(Verb.STOP, ref, Reason.JOB_OVER).replied()
            stops += 1
        story.later(7200)
    assert 20 < stops < 60


# proof that a stop worked


def test_a_stop_is_verified_when_it_was_done_and_a_later_find_lacks_the_object() -> None:
    story, ref = running()
    story.outcome().call(Verb.STOP, ref, Reason.JOB_OVER).replied().later(9).seen(missing=(ref,)).ceased(ref)
    event = only(StopVerified, story)
    assert (event.object, event.run, event.basis) == (ref, 0, StopBasis.STOP_DONE_AND_ABSENT)
    assert told(story) == [("StopVerified", Reason.STOP_DONE_AND_ABSENT)]


@pytest.mark.parametrize("outcome", [UNKNOWN, REFUSED])
def test_a_stop_that_was_not_done_verifies_nothing(outcome: ReplyOutcome) -> None:
    """L9: absence alone is nothing."""
    story, ref = running()
    story.outcome().call(Verb.STOP, ref, Reason.JOB_OVER).replied(outcome).later(9).seen(missing=(ref,))
    assert told(story) == []


def test_a_stop_that_was_done_counts_though_a_later_one_was_never_answered() -> None:
    story, ref = running()
    story.outcome().call(Verb.STOP, ref, Reason.JOB_OVER).replied().later(60)
    story.call(Verb.STOP, ref, Reason.JOB_OVER).later(9).seen(missing=(ref,)).ceased(ref)
    assert told(story) == [("StopVerified", Reason.STOP_DONE_AND_ABSENT)]


def test_a_stop_done_by_a_controller_that_lost_its_records_waits_for_the_nodes_word() -> None:
    """L9: what it does not know it cannot stop, and it answers done; where no node can be asked, that has to do."""
    story, ref = running()
    story.outcome().call(Verb.STOP, ref, Reason.JOB_OVER).replied().later(9).seen(missing=(ref,))
    assert told(story) == []
    assert told(story, replace(SLURM, cessation=False)) == [("StopVerified", Reason.STOP_DONE_AND_ABSENT)]


def test_an_object_that_vanished_from_its_queue_may_have_begun_whoever_lifted_its_gate() -> None:
    story, ref = launched()
    story.seen(story.look(ref, Phase.QUEUED)).call(Verb.STOP, ref, Reason.UNAUTHORIZED_RUN).replied()
    assert told(story.later(9).seen(missing=(ref,))) == []
    assert told(story.ceased(ref)) == [("StopVerified", Reason.STOP_DONE_AND_ABSENT)]


def test_a_stop_done_before_the_object_was_seen_alive_again_verifies_nothing() -> None:
    story, ref = running()
    story.outcome().call(Verb.STOP, ref, Reason.JOB_OVER).replied().later(9).seen((ref, Phase.QUEUED, 1))
    assert told(story.later(9).seen(missing=(ref,))) == []


def test_an_absent_object_whose_processes_are_gone_is_accounted_for() -> None:
    """R11: purged, and accounting never knew: settled by other evidence."""
    story, ref = running()
    story.seen(missing=(ref,))
    assert told(story) == []
    story.ceased(ref)
    assert told(story) == [("StopVerified", Reason.PROCESSES_GONE)]
    assert only(StopVerified, story).basis is StopBasis.PROCESSES_GONE


def test_an_absent_object_that_could_run_again_is_stopped_before_its_processes_count_as_gone() -> None:
    """L3: hidden, without a process, suspended by hand: its next admission runs a job that was called settled."""
    story, ref = running()
    story.seen(missing=(ref,)).ceased(ref)
    assert told(story, PLAIN) == [("stop", Reason.CAN_RUN_AGAIN)]
    story.call(Verb.STOP, ref, Reason.CAN_RUN_AGAIN)
    assert told(story, PLAIN) == []
    story.replied().later(9)
    assert told(story, PLAIN) == [("StopVerified", Reason.STOP_DONE_AND_ABSENT)]


def test_an_absent_object_that_was_opened_and_never_seen_to_start_may_be_waiting_somewhere() -> None:
    """L4: no process of it lives, and none has lived yet: a hidden partition's queue is no proof."""
    story, ref = launched()
    story.opened(ref).later(5).seen((ref, Phase.QUEUED)).later(5).seen(missing=(ref,)).ceased(ref)
    assert told(story) == []


@pytest.mark.parametrize("verb", [Verb.OPEN, Verb.RELEASE, Verb.REQUEUE])
def test_an_absent_object_that_a_call_may_still_revive_is_not_accounted_for(verb: Verb) -> None:
    story, ref = running()
    story.seen(missing=(ref,)).call(verb, ref, run=0 if verb is not Verb.RELEASE else None).ceased(ref)
    assert told(story) == []
    assert told(story.later(CALL_BOUND_S + 31)) == [("StopVerified", Reason.PROCESSES_GONE)]


def test_an_object_known_from_a_reply_alone_is_never_verified() -> None:
    """L9: it was never seen."""
    story = Story().submitted().authorized().attempt()
    ref = story.ref("88213")
    story.replied(object=ref).cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()
    story.call(Verb.STOP, ref, Reason.JOB_OVER).replied().later(99).seen(missing=(ref,))
    assert "StopVerified" not in [name for name, _ in told(story)]


# settlement


def finished() -> tuple[Story, ObjectRef]:
    """Completed, proven gone, outcome decided: nothing keeps it from being settled."""
    story, ref = run_once()
    return story.outcome(), ref


def test_a_job_is_settled_when_every_clause_holds() -> None:
    story, _ = finished()
    assert told(story) == [("JobSettled", Reason.ALL_CLAUSES_HOLD)]
    assert only(events.JobSettled, story).as_of == story.at


def test_after_settlement_nothing_is_decided() -> None:
    story, _ = finished()
    story.settled()
    for _ in range(3):
        assert told(story.later(86400)) == []


def test_after_settlement_a_run_that_nobody_authorized_is_stopped_and_nothing_else() -> None:
    """L1, R9: a finished job was requeued by hand."""
    story, ref = finished()
    story.settled().later(99).seen(story.look(ref, Phase.RUNNING, 1, nodes=NODES))
    assert told(story) == [("stop", Reason.UNAUTHORIZED_RUN)]
    story.call(Verb.STOP, ref, Reason.UNAUTHORIZED_RUN).replied().later(9).ended(ref, 1, STOPPED, nodes=NODES)
    assert told(story) == []


def test_after_settlement_a_foreign_object_is_left_alone() -> None:
    story, _ = finished()
    story.settled().later(9).seen((story.foreign(), Phase.RUNNING))
    assert told(story) == []


def test_processes_that_may_be_alive_keep_a_decided_job_from_being_settled() -> None:
    """R6: a lost node waits for proof."""
    story, ref = running()
    story.ended(ref, cause=COMPLETED, nodes=NODES).outcome()
    assert told(story) == []
    story.ceased(ref, answer=CessationAnswer.MAY_RUN)
    assert told(story) == []
    assert told(story.ceased(ref), LOCAL) == [("JobSettled", Reason.ALL_CLAUSES_HOLD)]


def test_where_an_ended_object_can_run_again_settlement_waits_for_its_stop() -> None:
    story, ref = launched()
    story.opened(ref, 1).later(9).running(ref, 1).later(99).ended(ref, 1, nodes=NODES).ceased(ref, 1).outcome()
    assert told(story, PLAIN) == [("stop", Reason.CAN_RUN_AGAIN)]
    story.call(Verb.STOP, ref, Reason.CAN_RUN_AGAIN).replied().later(9).ended(ref, 1, nodes=NODES, end_final=True)
    assert told(story, PLAIN) == [("JobSettled", Reason.ALL_CLAUSES_HOLD)]


def test_a_read_only_cluster_is_never_called() -> None:
    story, ref = running()
    assert told(story.outcome(), replace(SLURM, read_only=True)) == []
    assert opens(story) == []
    assert calls(story, Verb.STOP)[0].object == ref
