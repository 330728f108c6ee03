"""The audit view: every message as one line, in the words that `dispatch history` prints."""

from __future__ import annotations

from datetime import timedelta

import pytest

from projections.known import node_list
from projections.timeline import Kind, Line, timeline
from streams.messages import events
from streams.messages.events import Quarantined, UnknownEvent
from streams.messages.reasons import Reason
from streams.messages.values import (
    AttemptRef,
    CessationAnswer,
    CessationBasis,
    Disposition,
    HoldKind,
    HoldSeen,
    MessageRef,
    NodeState,
    ObjectRef,
    Outcome,
    Phase,
    ReplyOutcome,
    StopBasis,
    Verb,
)
from tests.unit.projections.lawful import LAWFUL, controls, duplicate_starts
from tests.unit.projections.story import CRASHED, NODES, PREEMPTED, STOPPED, Story, launched, run_once

UNKNOWN, REFUSED = ReplyOutcome.UNKNOWN, ReplyOutcome.REFUSED


def told(story: Story, number: int = 0) -> tuple[str, str, str, str]:
    """Kind, who, sentence and code of one line; the last one if none is named."""
    line = timeline(story.entries)[number - 1]
    return (line.kind.value, line.who, line.sentence, line.code)


def sentence(story: Story) -> str:
    return timeline(story.entries)[-1].sentence


def test_a_launch_is_told_as_the_command_line_shows_it() -> None:
    lines = [
        (line.number, line.kind.value, line.who, line.sentence, line.code)
        for line in timeline(duplicate_starts().entries)
    ]
    assert lines[:13] == [
        (1, "command", "ana", "submitted: 2 × 1 ranks on hpc2", "submitted"),
        (2, "decision", "sv-b", "submission 1 authorized", "first-submission"),
        (3, "decision", "sv-b", "attempt 1/1 committed, then Start is sent", "launch"),
        (4, "evidence", "sv-b", "Start 1/1: no reply in 30s: it may exist", "unknown"),
        (5, "decision", "sv-b", "attempt 1/2 committed (2 of 3)", "retry-after-unknown"),
        (6, "evidence", "sv-b", "Start 1/2: no reply: it may exist", "unknown"),
        (7, "evidence", "hpc2", "found 88543 (1/1) and 88544 (1/2), both gated", "found"),
        (8, "decision", "sv-b", "88543 is canonical", "lowest-attempt"),
        (9, "decision", "sv-b", "88544 retired", "duplicate"),
        (10, "call", "sv-b", "Stop 88544 intended, then sent", "retired"),
        (11, "evidence", "sv-b", "Stop 88544 done", "done"),
        (12, "evidence", "hpc2", "88544 ended; it never ran", "stopped"),
        (13, "call", "sv-b", "Open 88543 to begin 1.0 intended, then sent", "gate-free"),
    ]


@pytest.mark.parametrize("name", LAWFUL)
def test_nothing_is_left_out_and_every_line_has_its_number_revision_and_code(name: str) -> None:
    entries = LAWFUL[name]().entries
    lines = timeline(entries)
    assert [(line.number, line.revision) for line in lines] == [(n, e.revision) for n, e in enumerate(entries, start=1)]
    assert all(line.sentence and line.code and line.who for line in lines)


def test_a_retry_names_its_rule_its_use_of_the_budget_and_what_it_avoids() -> None:
    story, _ = run_once(cause=PREEMPTED)
    event = events.SubmissionAuthorized(
        submission=2, rule="bad-node", budget_key="bad-node/1.0", not_before_at=story.at, avoid_nodes=("n17", "n18")
    )
    assert told(story.append(event, Reason.PLAN_RULE)) == (
        "decision",
        "sv-b",
        "submission 2 authorized, bad-node 1/5, avoid n17-n18",
        "plan-rule bad-node.1",
    )


def test_a_command_is_told_by_its_actor_and_a_claimed_name_is_marked() -> None:
    story, _ = launched()
    assert told(story.cancelled()) == ("command", "ana", 'cancel "wrong data mix"', "person-cancel")
    claimed = Story().cancelled(actor="portal", on_behalf_of="bo", note=None)
    assert told(claimed) == ("command", "portal ~bo", "cancel", "person-cancel")


def test_a_cancel_says_what_it_lifted_and_dropped() -> None:
    story, _ = launched()
    event = events.JobCancelled(lifted=("c-1", "c-2"), dropped=("crash/1.0",))
    story.append(event, Reason.PERSON_CANCEL, command="c-9", actor="ana")
    assert sentence(story) == "cancel (c-1 and c-2 lifted; crash/1.0 dropped)"


def test_replies_say_how_far_a_call_got() -> None:
    story, ref = launched()
    story.call(Verb.OPEN, ref, run=0)
    assert sentence(story.replied(UNKNOWN)) == "Open 88213 to begin 1.0: no reply: it may have landed or land yet"
    assert told(story.replied(REFUSED, detail="held by admin"))[2:] == (
        "Open 88213 to begin 1.0 refused: held by admin",
        "refused",
    )
    story.replied(REFUSED, retry=True, detail="pods remain")
    assert told(story)[2:] == (
        "Open 88213 to begin 1.0 did nothing, and may be tried again: pods remain",
        "unreachable",
    )
    assert sentence(story.replied(call=9)) == "call 9, which nobody committed, done"


def test_a_run_is_told_with_its_epoch_and_its_nodes() -> None:
    story, ref = launched()
    story.opened(ref).later(9).running(ref)
    assert told(story) == ("evidence", "hpc2", "88213 running 1.0, epoch 1000000, on n14-n15", "running")
    story.later(9).ended(ref, cause=CRASHED, nodes=NODES)
    assert told(story)[2:] == ("88213 ended by exit-code (exit 3, rank 1, n15)", "exit-code")


def test_a_run_without_a_committed_open_is_told_as_one() -> None:
    story, ref = launched()
    assert told(story.later(9).running(ref))[2:] == (
        "88213 running 1.0 on n14-n15 without a committed open",
        "unauthorized-run",
    )


def test_absence_is_never_told_as_an_end() -> None:
    story, ref = launched()
    assert told(story.later(9).seen(missing=(ref,))) == (
        "evidence",
        "hpc2",
        "88213 not shown, which is no end",
        "missing",
    )


def test_a_foreign_object_is_told_as_foreign_also_when_its_tag_is_another_jobs() -> None:
    story, ref = launched()
    assert sentence(story.later(9).running(story.foreign())) == "found 90112 running run 0 on n14-n15 (foreign)"
    other = launched(Story("other"))[0]
    lent = other.look(other.ref("88213"), Phase.GATED)
    assert sentence(Story("mine").submitted().seen(lent)) == "found 88213 (foreign), gated"
    assert ref.id == "88213"


def test_one_id_used_twice_is_told_apart() -> None:
    story, ref = launched()
    again = ObjectRef(cluster="hpc2", id=ref.id, created="someone-else")
    assert sentence(story.seen((again, Phase.GATED)).retired(again)) == "88213 (someone-) retired"


def test_an_older_look_is_told_as_one() -> None:
    story, ref = launched()
    story.opened(ref).later(100).ended(ref, cause=STOPPED, nodes=NODES)
    story.seen(story.look(ref, Phase.RUNNING, nodes=NODES), as_of=story.after(-50))
    assert told(story)[2:] == (
        "an older look, of 22:09:01: 88213 running 1.0, epoch 1000000, on n14-n15",
        "older-look",
    )


def test_a_find_that_shows_nothing_new_says_so_and_is_the_clusters() -> None:
    story, _ = launched()
    assert told(story.seen()) == ("evidence", "hpc2", "looked again: nothing else is there", "looked")


def test_words_on_processes_say_whose_they_are() -> None:
    story, ref = run_once()
    down = (NodeState(node="n17", state="DOWN, not rebooted", may_run=("ranks 24-31",)), NodeState(node="n14"))
    story.ceased(ref, answer=CessationAnswer.MAY_RUN, nodes=down)
    assert told(story) == ("evidence", "hpc2", "1.0 not proven dead: n17 DOWN, not rebooted", "cessation-denied")
    story.ceased(ref, basis=CessationBasis.PRESUMED)
    assert told(story) == ("evidence", "sv-b", "processes of 1.0 are presumed gone", "cessation-presumed")
    word = events.CessationSeen(
        object=ref,
        run=0,
        answer=CessationAnswer.CEASED,
        basis=CessationBasis.OPERATOR,
        as_of=story.at,
        nodes=(NodeState(node="n17", state="off"),),
        attested_by="ana",
    )
    story.append(word, command="c-7", actor="ana", note="pulled the plug")
    assert told(story) == (
        "command",
        "ana",
        'n17 attested off by ana: 1.0 is taken as dead on n17 "pulled the plug"',
        "attested",
    )


def test_what_people_and_rules_decide_is_told_in_their_words() -> None:
    story, ref = launched()
    now = events.HoldAsked(instance="c-1", rule="person", kind=HoldKind.PERSON, now=True)
    story.append(now, Reason.HOLD_NOW, command="c-1", actor="ana")
    assert sentence(story) == "hold (instance c-1): no further run, and the present one ends"
    rule = events.HoldAsked(instance="rule-1-0", rule="oom", kind=HoldKind.RULE)
    assert sentence(story.append(rule, Reason.PLAN_RULE)) == "hold by rule oom (instance rule-1-0): no further run"
    assert sentence(story.hold_lifted("c-1", "rule-1-0")) == "release of c-1 and rule-1-0"
    story.disposed(AttemptRef(submission=1, attempt=2), Disposition.GONE, "unmatched", as_of=story.at)
    assert sentence(story) == "attempt 1/2 given up: no reply, never found, and its Start can no longer land"
    assert sentence(story.disposed(MessageRef(revision=7), Disposition.IGNORE)) == "message r7 disposed of: ignore"
    story.disposed(story.foreign(), Disposition.ADOPT, submission=1, attempt=2)
    assert sentence(story) == "90112 disposed of: adopt for 1/2"
    assert sentence(story.verified(ref)).endswith("its stop was done and a later Find lacks it")
    assert sentence(story.verified(ref, basis=StopBasis.PROCESSES_GONE)).endswith("processes of 1.0 are gone")
    story.outcome(Outcome.FAILED, cause=PREEMPTED, rule="rest")
    assert told(story)[2:] == ("failed: submission 1 ended by preempted", "give-up")


def test_a_hold_on_the_object_is_told_by_its_kind() -> None:
    story, ref = launched()
    story.seen(story.look(ref, Phase.GATED, hold=HoldSeen.ADMIN))
    assert sentence(story) == "88213 is gated, 1.0, held (admin)"


def test_messages_that_cannot_be_read_stand_in_their_place() -> None:
    story = Story().submitted().strange(Quarantined(why="no envelope: JSON is malformed"))
    story.strange(UnknownEvent(type="NodeDrained", v=2))
    entry = story.entries[1]
    assert timeline(story.entries)[1] == Line(
        number=2,
        revision=entry.revision,
        at=entry.stored_at,
        kind=Kind.STRANGE,
        who="?",
        sentence="cannot be read: no envelope: JSON is malformed",
        code="quarantined",
    )
    assert told(story) == ("?", "?", "NodeDrained, version 2: written by a later release than this one", "unknown-type")


def test_the_time_of_a_line_is_its_writers_and_its_id_the_events() -> None:
    story = Story().submitted()
    (line,) = timeline(story.entries)
    assert story.entries[0].stored_at - line.at == timedelta(milliseconds=4)
    assert line.id is not None
    assert len(line.id) == 26


def test_the_controls_of_a_tenant_are_told() -> None:
    assert [line.sentence for line in timeline(controls().entries)] == [
        'retries off on hpc2 "maintenance"',
        "retries on, brake until 22:23:00 on hpc2",
        "retries on, observe on hpc2",
    ]


def test_neighbouring_nodes_are_drawn_together() -> None:
    assert node_list(["n18", "n14", "n16", "n15", "gpu", "n9", "n10", "n14"]) == "gpu n9-n10 n14-n16 n18"
    assert node_list(["n09", "n10", "n011", "m1", "m02"]) == "m1 m02 n09-n10 n011"
