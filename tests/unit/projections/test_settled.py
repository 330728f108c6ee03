"""Settlement: each clause keeps a job open alone, and says what it waits for (L3)."""

from __future__ import annotations

from msgspec.structs import replace

from projections.evolve import empty, fold
from projections.recorded import last_recorded_find
from projections.settled import holds, settled
from streams.messages.calls import Capabilities
from streams.messages.reasons import Reason
from streams.messages.spec import Unmatched
from streams.messages.values import AttemptRef, Disposition, Found, ObjectRef, Phase, ReplyOutcome, Sighting, Verb
from tests.unit.dispatch.scene import PLAIN, SLURM
from tests.unit.projections.story import CALL_BOUND_S, NODES, STOPPED, Story, launched, run_once

UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED


def open_clauses(
    story: Story, able: Capabilities = SLURM, shows: tuple[Sighting, ...] = (), hides: tuple[ObjectRef, ...] = ()
) -> dict[str, tuple[str, ...]]:
    """The clauses that do not hold, each with what it waits for."""
    record = fold(empty(story.tenant, story.job), story.entries)
    last = last_recorded_find(record)
    instead = {*hides, *(s.object for s in shows)}
    known = tuple(s for s in (last.sightings if last else ()) if s.object not in instead)
    found = Found(as_of=story.at, sightings=(*known, *shows))
    return {c.name: c.waits_for for c in settled(record, found, able) if not c.holds}


def finished() -> tuple[Story, ObjectRef]:
    story, ref = run_once()
    return story.outcome(), ref


def test_a_finished_job_whose_processes_are_gone_is_settled() -> None:
    story, _ = finished()
    assert open_clauses(story) == {}


def test_a_job_without_an_outcome_is_still_wanted() -> None:
    story, _ = run_once()
    assert open_clauses(story) == {"an outcome is committed": ("the job is still wanted",)}


def test_a_recorded_object_that_is_alive_keeps_the_job_open() -> None:
    story, ref = finished()
    assert open_clauses(story, shows=(story.look(ref, Phase.RUNNING, 1),)) == {
        "every recorded object has ended": ("88213 is running",)
    }


def test_an_object_seen_ended_while_a_requeue_could_land_has_not_ended() -> None:
    story, ref = launched()
    story.opened(ref).later(9).running(ref).requeue_authorized(ref, 0, cause=None)
    story.call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0).later(9).ended(ref, nodes=NODES).ceased(ref).outcome()
    assert set(open_clauses(story)) == {"every recorded object has ended", "every call is over"}


def test_an_absent_object_that_was_never_seen_ended_keeps_the_job_open() -> None:
    """L9."""
    story, ref = launched()
    story.outcome().seen(missing=(ref,))
    assert open_clauses(story) == {"every recorded object has ended": ("88213: not shown, and never seen ended",)}
    assert open_clauses(story.disposed(ref, Disposition.GONE)) == {}


def test_an_absent_object_that_was_seen_ended_does_not() -> None:
    story, ref = finished()
    assert open_clauses(story, hides=(ref,)) == {}


def test_an_ended_object_that_can_run_again_by_itself_has_to_be_stopped() -> None:
    story, ref = finished()
    name = "every recorded object has ended"
    assert open_clauses(story, PLAIN) == {name: ("88213 ended and can run again by itself until it is stopped",)}
    story.call(Verb.STOP, ref, Reason.CAN_RUN_AGAIN).replied().later(9).ended(ref, nodes=NODES, end_final=True)
    assert open_clauses(story, PLAIN) == {}


def test_processes_that_may_be_alive_keep_the_job_open_and_are_named() -> None:
    """R5, R6: readiness and phases say nothing of processes."""
    story, ref = launched()
    story.opened(ref).later(9).running(ref).later(9).ended(ref, nodes=NODES).outcome()
    assert open_clauses(story) == {
        "all processes are proven gone": ("88213 run 0 may be alive on n14, n15",),
    }


def test_what_a_find_shows_and_nobody_recorded_keeps_the_job_open() -> None:
    story, _ = finished()
    other = story.look(story.foreign(), Phase.GATED)
    assert set(open_clauses(story, shows=(other,))) == {
        "the latest Find shows no other object",
        "no foreign object is undisposed",
    }


def test_a_foreign_object_keeps_the_job_open_until_a_person_disposes_of_it() -> None:
    story, _ = finished()
    other = story.foreign()
    story.seen(story.look(other, Phase.ENDED, cause=STOPPED))
    assert open_clauses(story) == {"no foreign object is undisposed": ("90112 is foreign",)}
    assert open_clauses(story.disposed(other, Disposition.IGNORE)) == {}


def test_a_cancel_is_a_persons_authority_over_a_foreign_object_that_has_ended() -> None:
    story, ref = launched()
    other = story.foreign()
    story.seen((other, Phase.QUEUED)).cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()
    story.later(9).seen(story.look(ref, Phase.ENDED, cause=STOPPED), story.look(other, Phase.ENDED, cause=STOPPED))
    assert set(open_clauses(story)) == {"a cancel is complete"}


def test_an_ignored_object_does_not_keep_the_job_open_whatever_it_does() -> None:
    story, _ = finished()
    other = story.foreign()
    story.seen((other, Phase.RUNNING)).disposed(other, Disposition.IGNORE)
    assert open_clauses(story) == {}


def test_a_submission_with_every_attempt_unknown_is_stuck() -> None:
    """R3."""
    story = Story().submitted().authorized().attempt().replied(UNKNOWN).outcome().later(CALL_BOUND_S + 61)
    assert open_clauses(story) == {
        "no submission has every attempt unknown": ("submission 1: every attempt is unknown",),
    }
    assert open_clauses(story.disposed(AttemptRef(submission=1, attempt=1), Disposition.GONE)) == {}


def test_under_manual_one_unmatched_attempt_is_enough() -> None:
    story = Story().submitted(unmatched=Unmatched.MANUAL).authorized().attempt().replied(UNKNOWN)
    story, _ = launched_second(story)
    assert open_clauses(story.later(CALL_BOUND_S)) == {"no attempt is unmatched": ("attempt 1/1",)}
    assert open_clauses(story.disposed(AttemptRef(submission=1, attempt=1), Disposition.GONE)) == {}


def launched_second(story: Story) -> tuple[Story, ObjectRef]:
    """The second attempt made the object that ran and ended."""
    ref = story.later(61).attempt(1, 2).made("88544", 1, 2)
    story.canonical(ref, 1, 2).opened(ref).later(9).running(ref).later(9).ended(ref, nodes=NODES).ceased(ref)
    return story.outcome(), ref


def test_a_start_that_may_still_land_keeps_the_job_open() -> None:
    story = Story().submitted().authorized().attempt().replied(UNKNOWN)
    story, _ = launched_second(story)
    assert set(open_clauses(story)) == {"every Start is accounted for"}
    assert open_clauses(story.later(CALL_BOUND_S)) == {}


def test_a_call_that_may_still_land_keeps_the_job_open() -> None:
    story, ref = finished()
    story.call(Verb.STOP, ref)
    assert set(open_clauses(story)) == {"every call is over"}
    assert open_clauses(story.later(CALL_BOUND_S + 30)) == {}


def test_a_cancel_of_a_name_never_seen_is_settled_without_a_cluster() -> None:
    story = Story().cancelled()
    record = fold(empty(story.tenant, story.job), story.entries)
    assert holds(settled(record, None, None))
    submitted = fold(empty("nlp", "llama-7b"), Story().submitted().cancelled().entries)
    assert not holds(settled(submitted, None, None))


def test_without_a_find_no_submitted_job_is_settled() -> None:
    story, _ = finished()
    record = fold(empty(story.tenant, story.job), story.entries)
    assert [c.name for c in settled(record, None, SLURM) if not c.holds] == ["no cluster was ever asked"]
    assert holds(settled(record, Found(as_of=story.at), replace(SLURM, kind="local")))
