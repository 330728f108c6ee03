"""Bugs planted in how events are appended, calls are sent and Finds are read."""

from __future__ import annotations

from tests.simulator.mutants.plant import Edit, Mutant

ACT = "dispatch.act"
SUPERVISOR = "dispatch.supervisor"
APPENDED = "    return _after(record, stored, await hands.history.append(stored))\n"

ACTING = (
    Mutant(
        name="append-without-expectation",
        rule="a decision is appended only right after the revision it was made from",
        edits=(Edit("tests.simulator.ledger:Ledger.append", "current == envelope.expected", "True"),),
        laws=("L5", "L2", "L7", "L8"),
    ),
    Mutant(
        name="older-writers-append",
        rule="an append names the stream it expects, so that a writer of before a restore is refused",
        edits=(
            Edit(
                "tests.simulator.flight:AppendFlight.advance",
                "self.world.ledger.append(self.envelope, self.data, self.generation)",
                "self.world.ledger.append(self.envelope, self.data, self.world.ledger.generation)",
            ),
        ),
        laws=("L2", "L14", "L12", "L7", "L1", "L8", "L4"),
        theme="restored",
        marked=True,
    ),
    Mutant(
        name="attempt-uncommitted",
        rule="an attempt is committed before its Start is sent",
        edits=(
            Edit(
                f"{ACT}:perform",
                "    record = await decide(hands, record, step.event, step.reason)\n",
                "    if isinstance(step.event, AttemptCommitted):\n"
                "        stored = envelope(hands, record, step.event, step.reason, None)\n"
                "        record = _after(record, stored, record.revision + 1)\n"
                "    else:\n"
                "        record = await decide(hands, record, step.event, step.reason)\n",
            ),
        ),
        laws=("L7",),
    ),
    Mutant(
        name="undecided-append-taken-for-accepted",
        rule="a call is sent only by the pass whose own append of its intent was accepted",
        edits=(
            Edit(
                f"{ACT}:decide",
                APPENDED,
                "    try:\n        revision = await hands.history.append(stored)\n"
                "    except UndecidedError:\n        revision = record.revision + 1\n"
                "    return _after(record, stored, revision)\n",
            ),
        ),
        laws=("L7",),
        marked=True,
    ),
    Mutant(
        name="conflict-taken-for-accepted",
        rule="a conflict ends the decision",
        edits=(
            Edit(
                f"{ACT}:decide",
                APPENDED,
                "    try:\n        revision = await hands.history.append(stored)\n"
                "    except ConflictError as error:\n        revision = error.current or record.revision + 1\n"
                "    return _after(record, stored, revision)\n",
            ),
        ),
        laws=("L7", "L2"),
    ),
    Mutant(
        name="call-before-its-intent",
        rule="the event that authorizes a call is in the history before the call is sent",
        edits=(
            Edit(
                f"{ACT}:decide",
                APPENDED,
                "    after = _after(record, stored, record.revision + 1)\n"
                "    if hasattr(event, 'call') and reason is not None and record.spec is not None:\n"
                "        adapter = hands.adapter_of(record.spec.cluster)\n"
                "        hands.spawn(send(hands, adapter, after, call_of(after, event, hands.installation)))\n"
                + APPENDED,
            ),
        ),
        laws=("L7",),
    ),
    Mutant(
        name="call-sent-twice",
        rule="one intent, one send",
        edits=(
            Edit(
                f"{ACT}:perform",
                "hands.spawn(send(hands, adapter, record, call))",
                "[hands.spawn(send(hands, adapter, record, call)) for _ in range(2)]",
            ),
        ),
        laws=("L7",),
        marked=True,
    ),
    Mutant(
        name="open-sent-again-under-an-old-intent",
        rule="a repeat is a new intent",
        edits=(
            Edit(
                f"{SUPERVISOR}:_decide",
                "    result = Result.QUIET\n",
                "    result = Result.QUIET\n"
                "    for old in situation.record.calls.values():\n"
                "        if old.verb is Verb.OPEN and not old.closed and not situation.record.over:\n"
                "            from dispatch import act\n"
                "            event = CallCommitted(call=old.call, verb=old.verb, deadline_at=old.deadline_at,\n"
                "                over_at=old.over_at, as_of=old.as_of, object=old.object, run=old.run)\n"
                "            from msgspec import structs\n"
                "            then = structs.replace(situation.record, revision=old.revision)\n"
                "            adapter = hands.adapter_of(situation.spec.cluster)\n"
                "            hands.spawn(act.send(hands, adapter, then, act.call_of(then, event, hands.installation)))\n",
            ),
        ),
        laws=("L7",),
        marked=True,
    ),
    Mutant(
        name="open-without-a-re-read",
        rule="the append of the intent is the re-read before Open",
        edits=(
            Edit(
                f"{ACT}:perform",
                "    record = await decide(hands, record, step.event, step.reason)\n",
                "    if getattr(step.event, 'verb', None) is Verb.OPEN:\n"
                "        stored = envelope(hands, record, step.event, step.reason, None)\n"
                "        record = _after(record, stored, record.revision + 1)\n"
                "    else:\n"
                "        record = await decide(hands, record, step.event, step.reason)\n",
            ),
        ),
        laws=("L7",),
        marked=True,
    ),
    Mutant(
        name="wrong-pair-on-a-call",
        rule="every call carries the revision and the id of the event that authorized it",
        edits=(Edit(f"{ACT}:call_of", "revision=record.revision, nonce", "revision=record.revision - 1, nonce"),),
        laws=("L7",),
    ),
    Mutant(
        name="late-reply-dropped",
        rule="evidence that meets a conflict is appended at the revision that is now",
        edits=(
            Edit(
                f"{ACT}:witness",
                "            there = max(there, error.current or 0)\n",
                "            return record, True\n",
            ),
        ),
        laws=("L6",),
    ),
    Mutant(
        name="evidence-dropped-on-a-lagging-tail",
        rule="evidence is dropped only where what is stored makes it no news",
        edits=(Edit(f"{ACT}:witness", " or record.revision >= there", " or True"),),
        laws=("L6",),
        theme="flicker",
    ),
    Mutant(
        name="unknown-reply-taken-for-refused",
        rule="no answer never means that nothing was created",
        edits=(
            Edit(
                f"{ACT}:answer",
                "    except OutcomeUnknownError as error:\n        outcome, detail = ReplyOutcome.UNKNOWN, str(error)\n",
                "    except OutcomeUnknownError as error:\n        outcome, detail = ReplyOutcome.REFUSED, str(error)\n",
            ),
        ),
        laws=("L9", "L3", "L2", "L4", "L1"),
    ),
    Mutant(
        name="unknown-reply-taken-for-done",
        rule="no answer never means done",
        edits=(
            Edit(
                f"{ACT}:answer",
                "    except OutcomeUnknownError as error:\n        outcome, detail = ReplyOutcome.UNKNOWN, str(error)\n",
                "    except OutcomeUnknownError as error:\n        outcome, detail = ReplyOutcome.DONE, str(error)\n",
            ),
        ),
        laws=("L3", "L2", "L4", "L10", "L1", "L9"),
    ),
    Mutant(
        name="find-before-read",
        rule="the record is read before the Find begins",
        edits=(
            Edit(
                f"{SUPERVISOR}:_pass",
                "        found = await adapter.find(name)\n",
                "        found = await adapter.find(name)\n"
                "        tail = await hands.history.read(record.tenant, record.job, after=record.revision)\n"
                "        record = fold(record, tail)\n"
                "        read_revision = record.revision\n",
            ),
        ),
        laws=("L4", "L3", "L2", "L10"),
        marked=True,
    ),
    Mutant(
        name="failed-read-taken-for-empty",
        rule="a read that failed is no Find",
        edits=(
            Edit(
                f"{SUPERVISOR}:_pass",
                "        found = await adapter.find(name)\n",
                "        try:\n"
                "            found = await adapter.find(name)\n"
                "        except UnreachableError:\n"
                "            found = Found(as_of=hands.clock())\n",
            ),
        ),
        laws=("L4", "L9", "L3", "L14"),
    ),
    Mutant(
        name="a-conflict-does-not-stop-deciding",
        rule="after somebody else's event nothing more is decided from what was looked at before",
        edits=(Edit(f"{SUPERVISOR}:_pass", "    if moved or also_moved:\n", "    if False:\n"),),
        laws=("L4", "L3", "L2", "L9", "L10"),
    ),
    Mutant(
        name="regression-guard-off",
        rule="nothing is decided on a history that lacks what the scheduler's side has seen",
        edits=(
            Edit(
                "projections.regression:regressed",
                "    floor = found.floor\n",
                "    return None\n    floor = found.floor\n",
            ),
        ),
        laws=("L14", "L1", "L4", "L7"),
        marked=True,
    ),
    Mutant(
        name="regression-judged-without-the-floor",
        rule="the newest pair each agent was called with comes back with Find",
        edits=(Edit("projections.regression:regressed", "    floor = found.floor\n", "    floor = None\n"),),
        laws=("L14",),
        marked=True,
    ),
    Mutant(
        name="regression-judged-by-number-alone",
        rule="a history is judged by event id, never by number alone",
        edits=(
            Edit(
                "projections.regression:regressed",
                "        if known != floor.nonce:\n",
                "        if floor.revision > record.revision:\n",
            ),
            Edit(
                "projections.regression:regressed",
                "record.intents.get(tag.revision) != tag.nonce and",
                "tag.revision > record.revision and",
            ),
        ),
        laws=("L14",),
        marked=True,
    ),
    Mutant(
        name="decisions-beside-an-unreadable-event",
        rule="an unknown event, or bytes that are none, stop decisions for that job",
        edits=(
            Edit(f"{SUPERVISOR}:_pass", "    if record.strange:\n", "    if False:\n"),
            Edit("dispatch.next_steps:_steps", "record.strange or ", ""),
        ),
        laws=("L15",),
    ),
    Mutant(
        name="deadline-not-checked-on-the-host",
        rule="the committed deadline is checked right before acting, on the scheduler's host",
        edits=(Edit("adapters.simulated.host:Request.arrive", "now > self._deadline_at", "False"),),
        laws=("L10", "L3", "L4", "L9"),
    ),
    Mutant(
        name="over-by-the-supervisors-clock",
        rule="only a Find's own time says that a call is over",
        edits=(
            Edit(
                "dispatch.next_steps.calls:over",
                "c.over(situation.as_of)",
                "c.over(max(situation.as_of, situation.now))",
            ),
            Edit(
                "dispatch.next_steps.gate:_requeues_over",
                "not c.over(situation.as_of)",
                "not c.over(max(situation.as_of, situation.now))",
            ),
            Edit(
                "dispatch.next_steps.launch:give_up",
                "situation.as_of < attempt.over_at",
                "max(situation.as_of, situation.now) < attempt.over_at",
            ),
            Edit(
                "dispatch.next_steps.cancel:_nothing_can_land",
                "c.over(situation.as_of) for",
                "c.over(max(situation.as_of, situation.now)) for",
            ),
        ),
        laws=("L10", "L3", "L4", "L9", "L2"),
        theme="late",
        marked=True,
    ),
    Mutant(
        name="call-bound-not-counted",
        rule="a call is over CallBound after its deadline, not at it",
        edits=(
            Edit(
                "dispatch.next_steps.calls:times",
                "deadline + timedelta(seconds=situation.capabilities.call_bound_s)",
                "deadline",
            ),
        ),
        laws=("L10", "L3", "L9", "L4"),
        theme="late",
    ),
    Mutant(
        name="call-numbers-given-twice",
        rule="each intent has a number of its own",
        edits=(
            Edit(
                "projections.intents:call_committed",
                "calls_made=max(record.calls_made, event.call)",
                "calls_made=record.calls_made",
            ),
        ),
        laws=("L7",),
    ),
)
