"""What a Find and a word on processes are worth: an event only when it is news (L6, R21)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from dispatch import evidence
from projections.evolve import fold
from projections.record import Record
from projections.recorded import last_recorded_find
from projections.regression import own_installation, regressed
from streams.messages.calls import Cessation
from streams.messages.events import CessationSeen, ObjectsSeen
from streams.messages.reasons import Reason
from streams.messages.values import (
    CessationAnswer,
    CessationBasis,
    Disposition,
    Floor,
    Found,
    HoldSeen,
    MessageRef,
    NodeState,
    ObjectRef,
    Phase,
    ReplyOutcome,
    Sighting,
    Verb,
)
from tests.unit.dispatch.scene import SLURM, record_of
from tests.unit.projections.story import CALL_BOUND_S, CRASHED, NODES, Story, launched

CEASED, MAY_RUN = CessationAnswer.CEASED, CessationAnswer.MAY_RUN


def found(story: Story, *sightings: Sighting, **fields: Any) -> Found:
    return Found(as_of=story.at, sightings=sightings, **fields)


def news(story: Story, find: Found, read_revision: int | None = None) -> ObjectsSeen | None:
    record = record_of(story)
    return evidence.objects_seen(record, find, record.revision if read_revision is None else read_revision, story.at)


def running() -> tuple[Story, ObjectRef]:
    story, ref = launched()
    return story.opened(ref).later(30).running(ref).later(60), ref


def last(story: Story) -> Found:
    known = last_recorded_find(record_of(story))
    assert known is not None
    return replace(known, as_of=story.at)


# a Find


def test_a_find_that_shows_what_is_known_is_worth_nothing() -> None:
    """R21: pending reasons, positions and the time of looking are no news."""
    story, ref = running()
    assert news(story, last(story)) is None
    assert news(story, replace(last(story), detail=((ref, "Priority, 4th in the queue"),))) is None


def test_only_what_changed_is_appended() -> None:
    story, ref = running()
    other = story.foreign()
    event = news(story, found(story, *last(story).sightings, story.look(other, Phase.QUEUED)))
    assert event == ObjectsSeen(
        as_of=story.at, read_revision=story.revision, sightings=(story.look(other, Phase.QUEUED),)
    )
    assert ref != other


@pytest.mark.parametrize(
    "change",
    [
        {"phase": Phase.ENDING},
        {"run": 1},
        {"hold": HoldSeen.ADMIN},
        {"ranks_done": 1},
        {"nodes": ("n14", "n16")},
        {"phase": Phase.ENDED, "cause": CRASHED},
        {"end_final": True},
    ],
)
def test_each_thing_that_rules_read_is_news(change: dict[str, Any]) -> None:
    story, ref = running()
    seen = story.look(ref, Phase.RUNNING, nodes=NODES)
    assert news(story, found(story, seen)) is None
    assert news(story, found(story, replace(seen, **change))) is not None


def test_a_recorded_object_that_a_complete_find_lacks_is_missing_once() -> None:
    """R4."""
    story, ref = running()
    event = news(story, found(story))
    assert event is not None
    assert (event.sightings, event.missing) == ((), (ref,))
    story.append(event)
    assert news(story.later(30), found(story)) is None


def test_an_object_that_was_recorded_after_the_read_is_not_missing() -> None:
    """The Find began before its Start was known to have landed."""
    story = Story().submitted().authorized().attempt()
    read = story.revision
    story.replied(object=story.ref("88213"))
    assert news(story, found(story), read) is None
    assert news(story, found(story)) is not None


def test_an_object_that_is_accounted_for_may_be_absent() -> None:
    story, ref = running()
    story.ended(ref, cause=CRASHED, nodes=NODES)
    assert news(story, found(story)) is None


def test_an_older_find_is_worth_nothing_but_an_end() -> None:
    story, ref = running()
    old = Found(as_of=story.after(-70), sightings=(story.look(ref, Phase.QUEUED),))
    assert news(story, old) is None
    end = Found(as_of=story.after(-70), sightings=(story.look(ref, Phase.ENDED, cause=CRASHED),))
    assert news(story, end) is not None


def test_an_end_that_counts_only_now_is_news() -> None:
    """The requeue that could have brought the object back is over."""
    story, ref = running()
    story.requeue_authorized(ref, 0, cause=None).call(Verb.REQUEUE, ref, Reason.REQUEUE_DUE, run=0)
    story.later(9).ended(ref, cause=CRASHED, nodes=NODES)
    assert news(story, last(story)) is None
    assert news(story.later(CALL_BOUND_S + 30), last(story)) is not None


def test_an_object_that_answers_an_attempt_is_news() -> None:
    story = Story().submitted().authorized().attempt().replied(ReplyOutcome.UNKNOWN)
    assert news(story, found(story, story.look(story.ref("88213"), Phase.GATED))) is not None


def test_a_find_that_completes_a_cancel_is_appended_though_it_shows_nothing_new() -> None:
    """It changes the record."""
    story = Story().submitted().cancelled().call(Verb.STOP_JOB, reason=Reason.CANCELLED).replied()
    story.call(Verb.STOP_JOB, reason=Reason.CALLS_OVER).replied()
    event = news(story.later(1), found(story))
    assert event == ObjectsSeen(as_of=story.at, read_revision=story.revision)
    assert news(story.append(event).later(1), found(story)) is None


def test_a_find_that_proves_a_hold_placed_is_appended_though_it_shows_nothing_new() -> None:
    story, ref = launched()
    story.opened(ref).later(5).seen((ref, Phase.QUEUED)).hold_asked()
    story.call(Verb.HOLD, ref, Reason.HOLD_IN_FORCE, instances=("c-2h4w",))
    story.later(5).seen(story.look(ref, Phase.GATED, hold=HoldSeen.USER)).replied()
    assert news(story.later(1), last(story)) is not None


# which runs to prove


def to_prove(story: Story, find: Found | None = None, read: int | None = None) -> tuple[tuple[ObjectRef, int], ...]:
    record = record_of(story)
    return evidence.runs_to_prove(record, find or last(story), record.revision if read is None else read)


def test_a_run_is_asked_about_once_it_is_over_until_it_is_proven_gone() -> None:
    story, ref = running()
    assert to_prove(story) == ()
    assert to_prove(story.ended(ref, cause=CRASHED, nodes=NODES)) == ((ref, 0),)
    assert to_prove(story.ceased(ref, answer=MAY_RUN)) == ((ref, 0),)
    assert to_prove(story.ceased(ref)) == ()


def test_an_absent_run_is_asked_about_and_no_word_of_it_is_presumed() -> None:
    """L9: hidden and running is also absent."""
    story, ref = running()
    story.seen(missing=(ref,))
    assert to_prove(story) == ((ref, 0),)
    assert evidence.presumed_gone(record_of(story), ref, 0, last(story)) is None
    story.later(9).ended(ref, cause=CRASHED, nodes=NODES)
    word = evidence.presumed_gone(record_of(story), ref, 0, last(story))
    assert word == Cessation(answer=CEASED, basis=CessationBasis.PRESUMED, as_of=story.at)


def test_an_absent_run_is_not_asked_about_while_an_open_of_it_may_land() -> None:
    """L4: that nothing of it lives says nothing of what is about to begin."""
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0).later(9).seen(missing=(ref,))
    assert to_prove(story) == ()
    read = story.revision
    story.replied()
    assert to_prove(story, read=read) == (), "this Find was read before the reply"
    assert to_prove(story) == ((ref, 0),)


def test_a_run_that_this_find_shows_on_is_not_asked_about_though_it_had_ended_before() -> None:
    story, ref = running()
    story.ended(ref, cause=CRASHED, nodes=NODES).later(9).running(ref)
    assert to_prove(story) == ()


def test_an_ignored_object_is_not_asked_about_and_a_foreign_one_is() -> None:
    story, _ = running()
    other = story.foreign()
    story.seen((other, Phase.RUNNING)).later(9).ended(other, nodes=("n14",))
    assert to_prove(story) == ((other, 0),)
    assert to_prove(story.disposed(other, Disposition.IGNORE)) == ()


def test_every_run_of_an_ended_object_is_over_also_one_that_never_began() -> None:
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=1).replied(ReplyOutcome.UNKNOWN).ended(ref, 0, cause=CRASHED)
    assert to_prove(story) == ((ref, 1),)


# words


def word(
    story: Story, ref: ObjectRef, answered: Cessation, presume_after_s: float | None = None
) -> CessationSeen | None:
    able = replace(SLURM, presume_after_s=presume_after_s)
    return evidence.cessation_seen(record_of(story), ref, 0, answered, able)


def ended() -> tuple[Story, ObjectRef]:
    story, ref = running()
    return story.ended(ref, cause=CRASHED, nodes=NODES), ref


def test_a_word_is_appended_when_its_answer_or_its_nodes_changed() -> None:
    story, ref = ended()
    says = Cessation(answer=MAY_RUN, basis=CessationBasis.OBSERVED, as_of=story.at, nodes=(node(), node("n15", 2)))
    event = word(story, ref, says)
    assert event is not None
    assert (event.answer, event.nodes, event.run) == (MAY_RUN, says.nodes, 0)
    story.append(event)
    assert word(story, ref, says) is None
    assert word(story, ref, replace(says, nodes=(node(), node("n15")))) is not None
    assert word(story, ref, replace(says, answer=CEASED)) is not None


def node(name: str = "n14", processes: int = 0) -> NodeState:
    return NodeState(node=name, may_run=tuple(f"88213.{n}" for n in range(processes)))


def test_how_many_processes_are_left_and_what_a_node_calls_itself_is_no_news() -> None:
    """R21: a lost node that flaps for thirty days."""
    story, ref = ended()
    says = Cessation(answer=MAY_RUN, basis=CessationBasis.OBSERVED, as_of=story.at, nodes=(node("n15", 8),))
    event = word(story, ref, says)
    assert event is not None
    story.append(event)
    assert word(story, ref, replace(says, nodes=(replace(node("n15", 3), state="drained"),))) is None


def test_a_proven_run_needs_no_further_word() -> None:
    story, ref = ended()
    says = Cessation(answer=MAY_RUN, basis=CessationBasis.OBSERVED, as_of=story.at)
    assert word(story.ceased(ref), ref, says) is None
    assert word(story, story.foreign(), says) is None


def test_a_run_is_presumed_gone_only_where_the_clusters_policy_says_so_and_so_long_after_its_end() -> None:
    story, ref = ended()
    says = Cessation(answer=MAY_RUN, basis=CessationBasis.OBSERVED, as_of=story.after(3600))
    event = word(story, ref, says, presume_after_s=3600)
    assert event is not None
    assert (event.answer, event.basis) == (CEASED, CessationBasis.PRESUMED)
    early = word(story, ref, replace(says, as_of=story.after(3599)), presume_after_s=3600)
    assert early is not None
    assert early.answer is MAY_RUN
    never = word(story, ref, says)
    assert never is not None
    assert never.answer is MAY_RUN


def test_a_second_life_begins_the_wait_of_the_presumption_anew() -> None:
    story, ref = ended()
    story.later(3600).running(ref).later(9).ended(ref, cause=CRASHED, nodes=NODES)
    says = Cessation(answer=MAY_RUN, basis=CessationBasis.OBSERVED, as_of=story.after(3000))
    event = word(story, ref, says, presume_after_s=3600)
    assert event is not None
    assert event.answer is MAY_RUN


# a history that went backwards


def regression(story: Story, find: Found, installation: str | None = "main") -> str | None:
    return regressed(record_of(story), find, installation)


def test_an_object_whose_attempt_is_not_in_the_history_regresses_it() -> None:
    """L14, R23: by event id, since sequences are shared by all jobs."""
    story, ref = launched()
    assert regression(story, last(story)) is None
    tag = replace(story.tags[1, 1], nonce="0" * 26)
    lost = replace(story.look(story.foreign(), Phase.RUNNING), tag=tag)
    why = regression(story, found(story, lost))
    assert why is not None
    assert f"r{tag.revision}" in why
    ahead = replace(story.look(ref, Phase.GATED), tag=replace(story.tags[1, 1], revision=60_000))
    assert regression(story, found(story, ahead)) is not None


@pytest.mark.parametrize("field", ["installation", "tenant", "job"])
def test_a_tag_of_another_installation_tenant_or_job_says_nothing_of_this_history(field: str) -> None:
    story, _ = launched()
    tag = replace(story.tags[1, 1], nonce="0" * 26, **{field: "other"})
    assert regression(story, found(story, replace(story.look(story.foreign(), Phase.RUNNING), tag=tag))) is None


def test_a_pair_that_the_agent_was_called_with_and_the_history_lacks_regresses_it() -> None:
    """L14: also where no object is left to tell."""
    story, _ = launched()
    revision, nonce = next(iter(record_of(story).intents.items()))
    assert regression(story, found(story, floor=Floor(revision=revision, nonce=nonce))) is None
    assert regression(story, found(story, floor=Floor(revision=revision, nonce="0" * 26))) is not None
    assert regression(story, found(story, floor=Floor(revision=60_000, nonce=nonce))) is not None


@pytest.mark.parametrize("how", [Disposition.STOP, Disposition.IGNORE, Disposition.ADOPT])
def test_a_regression_ends_when_a_person_has_disposed_of_what_told_it(how: Disposition) -> None:
    story, _ = launched()
    story.attempt(1, 2)
    other = story.foreign()
    lost = replace(story.look(other, Phase.RUNNING), tag=replace(story.tags[1, 1], nonce="0" * 26))
    story.seen(lost)
    assert regression(story, found(story, lost)) is not None
    answers: dict[str, Any] = {"submission": 1, "attempt": 2} if how is Disposition.ADOPT else {}
    assert regression(story.disposed(other, how, **answers), found(story, lost)) is None
    floor = Floor(revision=60_000, nonce="0" * 26)
    assert regression(story, found(story, floor=floor)) is not None
    story.disposed(MessageRef(revision=60_000), Disposition.IGNORE)
    assert regression(story, found(story, floor=floor)) is None


def test_the_installation_is_told_by_our_own_objects() -> None:
    story, _ = launched()
    assert own_installation(record_of(story)) == "main"
    assert own_installation(record_of(Story().submitted())) is None


def test_evidence_folded_is_news_no_more() -> None:
    """R21."""
    story, ref = launched()
    record: Record = record_of(story)
    story.later(30)
    find = found(story, story.look(ref, Phase.RUNNING, nodes=NODES))
    event = evidence.objects_seen(record, find, record.revision, story.at)
    assert event is not None
    record = fold(record, story.append(event).entries)
    assert evidence.objects_seen(record, find, record.revision, story.at) is None
    later = replace(find, as_of=story.at + timedelta(seconds=30))
    assert evidence.objects_seen(record, later, record.revision, story.at) is None
