"""What `dispatch why JOB` answers: the next step and what stops it, what an end would lead to, and settlement.

Pure. The conditions are those that `next_steps` decides by, asked of the Find that was made for this or, where no
scheduler was asked, of the one that the history last recorded; `live` says which.
"""

from __future__ import annotations

from typing import NamedTuple

from dispatch.next_steps import ends, gate, launch
from dispatch.situation import Situation
from dispatch.units import elapsed
from projections.record import ObjectRecord, Record, SubmissionRecord
from projections.regression import own_installation
from projections.settled import settled
from projections.status import Around, Picture, State, Wait, settled_of, waits_of, words
from projections.status.lifting import lifted_by
from projections.status.view import SettledView, View
from projections.status.waits.people import gone_back
from projections.status.waits.proof import proof_ends
from streams.messages.plan import ANY, PlanAction, PlanRule, WhenSpent
from streams.messages.values import Cause, CauseKind, Found, Phase, Verb

LAWS = {
    "the job is meant to run": "L2",
    "duplicates are retired": "L1",
    "no requeue can land any more": "L10",
    "every other object of the job has ended": "L4",
    "their processes are gone": "L4",
    "every earlier run of it is gone": "L4",
    "its next run is authorized": "L7",
}
PROVEN = ("their processes are gone", "every earlier run of it is gone")


class ConditionView(View, frozen=True, kw_only=True):
    """One condition of the next step. `waits_for` is empty where it holds; `ends` says what would make it hold."""

    name: str
    holds: bool
    waits_for: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    law: str | None = None


class RuleView(View, frozen=True, kw_only=True):
    """What an end by these causes would lead to. `left` and `of` None: the rule has no budget of its own.

    `do`: resubmit, requeue, hold or give-up, after the budget was looked at. `rule` None: no rule names the cause.
    """

    rule: str | None
    causes: tuple[str, ...]
    do: str
    left: int | None
    of: int | None
    wait_s: float | None


class EndView(View, frozen=True, kw_only=True):
    """What would follow if the newest submission ended now; `sentence` tells it in one line."""

    submission: int
    rules: tuple[RuleView, ...]
    sentence: str


class Why(View, frozen=True, kw_only=True):
    """`next_step` None: none is left. `live`: a Find was made for this, else it is as last recorded."""

    job: str
    state: State
    live: bool
    next_step: str | None
    blocked_by: int
    conditions: tuple[ConditionView, ...]
    waits: tuple[Wait, ...]
    if_it_ends: EndView | None
    settled: SettledView


class Next(NamedTuple):
    """The next step in words, and its conditions."""

    what: str | None
    conditions: tuple[ConditionView, ...] = ()


def why(record: Record, around: Around) -> Why:
    """What stops the next step, and which clauses stop settlement, at this revision."""
    picture = Picture(record, around)
    found = next_of(picture)
    return Why(
        job=record.job,
        state=picture.state,
        live=around.found is not None,
        next_step=found.what,
        blocked_by=sum(not c.holds for c in found.conditions),
        conditions=found.conditions,
        waits=waits_of(picture),
        if_it_ends=_if_it_ends(picture),
        settled=settled_of(picture),
    )


def situation_of(picture: Picture) -> Situation | None:
    """The situation a pass would decide from, as far as it is known; None of a job that was never submitted."""
    record, able = picture.record, picture.capabilities
    if record.submitted is None or able is None:
        return None
    asked_at = picture.now
    return Situation(
        record=record,
        found=picture.found or Found(as_of=record.at or asked_at),
        capabilities=able,
        controls=picture.around.controls,
        installation=picture.around.installation or own_installation(record) or "",
        asked_at=asked_at,
        now=picture.now,
    )


def next_of(picture: Picture) -> Next:
    """The step that would be taken next, and every condition of it."""
    record = picture.record
    stopped = _stopped(picture)
    if stopped:
        return Next("decide anything about this job", stopped)
    if record.settled:
        return Next(None)
    situation = situation_of(picture)
    if record.over or situation is None:
        return _settlement(picture)
    newest, held = situation.newest, situation.canonical
    if newest is None:
        return Next("authorize submission 1")
    if held is None:
        return _start(situation, newest)
    if record.pending_requeue() is not None:
        return _requeue(picture, situation, held)
    if situation.ended(held) or ends.end_of(situation) is not None:
        return _answer(situation, held)
    phase = situation.phase(held.ref) or held.phase
    name = picture.called(held.ref)
    if phase is Phase.GATED:
        return Next(f"open submission {newest.number} ({name})", _gate(picture, situation, held))
    if phase in (Phase.RUNNING, Phase.ENDING):
        return Next(f"none until {words.execution(held, held.run)} ends ({name} is {phase.value})")
    return Next(f"none until the scheduler starts {name}: its gate is open")


def _asked(name: str, holds: bool, waits_for: str = "", *, law: str | None = None, ends: str = "") -> ConditionView:  # noqa: FBT001  a condition is a name and whether it holds
    return ConditionView(
        name=name,
        holds=holds,
        waits_for=(waits_for,) if waits_for and not holds else (),
        ends=(ends,) if ends and not holds else (),
        law=law,
    )


def _stopped(picture: Picture) -> tuple[ConditionView, ...]:
    """What stops every decision, or nothing."""
    unread = tuple(f"r{s.revision}: {s.text}" for s in picture.record.strange)
    back = gone_back(picture)
    if not unread and not back:
        return ()
    read = ConditionView(
        name="every message of it can be read",
        holds=not unread,
        waits_for=unread,
        ends=("a person disposes of the message, or dispatch is upgraded",) if unread else (),
        law="L15",
    )
    whole = _asked("the history holds what the scheduler's side has seen", not back, back, law="L14")
    return (read, whole)


def _settlement(picture: Picture) -> Next:
    clauses = settled(picture.record, picture.found, picture.capabilities)
    conditions = tuple(ConditionView(name=c.name, holds=c.holds, waits_for=c.waits_for, law="L3") for c in clauses)
    return Next("settle the job", conditions)


def _start(situation: Situation, newest: SubmissionRecord) -> Next:
    """Before a submission has its canonical object: choose it, send a Start, or answer that none came."""
    if situation.record.closed(newest):
        return _answer(situation, None)
    made = [a for a in newest.attempts if a.object is not None]
    if made or launch.shown_of(situation, newest):
        shown = _asked("a Find shows it", bool(launch.shown_of(situation, newest)), words.attempts_text(made), law="L8")
        return Next(f"choose the object of submission {newest.number}", (shown,))
    counted = [a for a in newest.attempts if not a.made_nothing]
    most = situation.spec.attempts_max
    pause = f"until {words.stamp(newest.not_before_at)}"
    silent = [a for a in counted if a.reply is None and situation.as_of < a.deadline_at]
    return Next(
        f"send Start {newest.number}/{len(newest.attempts) + 1}",
        (
            _takes_calls(situation),
            _asked("the pause before it is over", situation.now >= newest.not_before_at, pause),
            _asked(
                "every earlier Start is answered, or its deadline passed",
                not silent,
                words.attempts_text(silent),
                law="L9",
                ends="its answer",
            ),
            _asked(
                f"fewer than {most} Starts may have made one",
                len(counted) < most,
                f"{words.attempts_text(counted)}: unknown",
                ends="a Find shows one, or they are given up",
            ),
        ),
    )


def _gate(picture: Picture, situation: Situation, held: ObjectRecord) -> tuple[ConditionView, ...]:
    chosen = ConditionView(name="one object is canonical", holds=True, law="L8")
    asked = tuple(
        ConditionView(
            name=c.name,
            holds=c.holds,
            waits_for=c.waits_for,
            ends=() if c.holds else _ends_of(c.name, picture, held),
            law=LAWS.get(c.name),
        )
        for c in gate.conditions(situation, held)
    )
    sent = situation.record.calls_on(held.ref, Verb.OPEN, Verb.ADMIT)
    waiting = [c for c in sent if not c.over(situation.as_of)]
    on_its_way = _asked("no Open is on its way", not waiting, "its answer, or a Find that shows it", law="L7")
    return (chosen, _takes_calls(situation), *asked, on_its_way)


def _takes_calls(situation: Situation) -> ConditionView:
    """Whether a call that begins a run may be sent at all: not to a cluster that is gone, or only looked at."""
    able, cluster = situation.capabilities, situation.spec.cluster
    why = f"{cluster} is gone" if able.takes_stops else f"{cluster} is read-only"
    ways = f"whoever serves {cluster} lets it be called, or the job is cancelled"
    return _asked("the cluster takes calls", not able.read_only, why, ends=ways)


def _ends_of(name: str, picture: Picture, held: ObjectRecord) -> tuple[str, ...]:
    """What would make a condition of the gate hold."""
    if name in PROVEN:
        mine = name == PROVEN[1]
        runs = [(o, r) for o, r in picture.over_runs() if (o.ref == held.ref) is mine]
        return tuple(dict.fromkeys(way for o, r in runs for way in proof_ends(picture, o, r)))
    return {
        "the job is meant to run": ("someone releases the hold",),
        "duplicates are retired": ("the next pass retires them",),
        "lifted holds are released": ("a Find shows it released",),
        "its next run is authorized": ("the recovery plan's word, and the end of its pause",),
        "no hold but ours is on it": ("whoever placed it at the scheduler lifts it there",),
        "no requeue can land any more": ("its answer, or the scheduler's clock passes its bound",),
        "every other object of the job has ended": ("a Find shows it ended, or a person disposes of it",),
    }.get(name, ())


def _requeue(picture: Picture, situation: Situation, held: ObjectRecord) -> Next:
    intent = situation.record.pending_requeue()
    assert intent is not None
    opens = situation.record.calls_on(held.ref, Verb.OPEN, Verb.ADMIT, Verb.RELEASE)
    landing = [c for c in opens if not c.over(situation.as_of)]
    fenced = situation.capabilities.fenced_calls
    pause = f"until {words.stamp(intent.not_before_at)}"
    sent = intent.call is not None
    return Next(
        f"requeue {picture.called(held.ref)}: run {intent.run} ends, the next one waits at the gate",
        (
            _takes_calls(situation),
            _asked("the pause before it is over", situation.now >= intent.not_before_at, pause),
            _asked("no Open of it can land late", fenced or not landing, "an Open without an answer", law="L10"),
            _asked("it is not sent yet", not sent, "a Find that shows it back at its gate", law="L7"),
        ),
    )


# what follows an end


def _answer(situation: Situation, held: ObjectRecord | None) -> Next:
    """The step that answers an end: by which rule, and whether a hold, a brake or accounting keeps it."""
    end = ends.end_of(situation)
    run = held.run_record(held.run) if held is not None else None
    cause = end.cause if end is not None else (run.cause if run is not None else None)
    cause = cause or Cause(kind=CauseKind.UNKNOWN)
    rule, spent = ends.rule_for(situation, cause, end.key if end is not None else "")
    kept = situation.controls.retries_wait(situation.spec.cluster, situation.now)
    retries = rule is not None and not spent and rule.do in (PlanAction.RESUBMIT, PlanAction.REQUEUE)
    asked = [h for h in situation.record.in_force if h.kind.value == "rule"]
    number = end.run if end is not None else held.run if held is not None else 0
    name = words.execution(held, number) if held is not None else "the submission"
    return Next(
        f"answer the end of {name} ({words.cause_text(cause)}): {_outcome_of(rule, spent, cause)}",
        (
            _asked("how it ended is known for good", end is not None, "accounting has not answered"),
            _asked("no hold of a rule waits for a person", not asked, words.listed(h.instance for h in asked)),
            _asked("retries may go", not retries or kept is None, kept or "", ends=_lifted_by(situation)),
        ),
    )


def _lifted_by(situation: Situation) -> str:
    """The lines that lift every control that keeps a retry of the job."""
    standing = situation.controls.standing_now(situation.spec.cluster, situation.now)
    return " and ".join(can.command for can in lifted_by(standing, situation.now))


def _outcome_of(rule: PlanRule | None, spent: bool, cause: Cause) -> str:  # noqa: FBT001  as `ends.rule_for` tells it
    if cause.kind is CauseKind.COMPLETED:
        return "the job has succeeded"
    if rule is None:
        return "give-up, no rule names it"
    return f"{_do(rule, spent=spent)} by rule {rule.name}"


def _do(rule: PlanRule, *, spent: bool) -> str:
    if not spent:
        return rule.do.value
    return "hold" if rule.when_spent is WhenSpent.HOLD else "give-up"


def _if_it_ends(picture: Picture) -> EndView | None:
    situation = situation_of(picture)
    record = picture.record
    if situation is None or record.over or record.newest is None:
        return None
    held = situation.canonical
    if held is not None and situation.ended(held):
        return None
    answers: dict[tuple[str | None, str], list[str]] = {}
    rules: dict[str, PlanRule] = {}
    for named, cause in _causes(record):
        rule, spent = ends.rule_for(situation, cause)
        if rule is not None:
            rules[rule.name] = rule
        do = "give-up" if rule is None else _do(rule, spent=spent)
        answers.setdefault((rule.name if rule else None, do), []).append(named)
    places = {rule.name: place for place, rule in enumerate(record.plan.rules)}
    ordered = sorted(answers.items(), key=lambda answer: places.get(answer[0][0] or "", len(places)))
    views = tuple(_rule_view(record, rules.get(name or ""), do, causes) for (name, do), causes in ordered)
    number = record.newest.number
    return EndView(submission=number, rules=views, sentence=_sentence(number, views, rules))


def _causes(record: Record) -> list[tuple[str, Cause]]:
    """Every cause an end can have, in the order of the word list; exit codes that a rule names apart."""
    codes = sorted({code for rule in record.plan.rules for code in rule.exit_codes})
    causes = [(f"exit-code {code}", Cause(kind=CauseKind.EXIT_CODE, exit_code=code)) for code in codes]
    kinds = [k for k in CauseKind if k not in (CauseKind.COMPLETED, CauseKind.STOPPED)]
    return [*causes, *((kind.value, Cause(kind=kind)) for kind in kinds)]


def _rule_view(record: Record, rule: PlanRule | None, do: str, causes: list[str]) -> RuleView:
    of = rule.budget if rule is not None else None
    used = record.uses.get(rule.name, 0) if rule is not None else 0
    again = rule is not None and do in (PlanAction.RESUBMIT.value, PlanAction.REQUEUE.value)
    return RuleView(
        rule=rule.name if rule is not None else None,
        causes=tuple(causes),
        do=do,
        left=None if of is None else max(0, of - used),
        of=of,
        wait_s=rule.backoff.wait_s(used) if rule is not None and again else None,
    )


def _sentence(number: int, views: tuple[RuleView, ...], rules: dict[str, PlanRule]) -> str:
    """`if submission 2 ends now: bad-node has 4 of 5 left, waits 1m; all else → give-up`."""
    told = [_phrase(view, rules) for view in views]
    return f"if submission {number} ends now: {'; '.join(told)}"


def _phrase(view: RuleView, rules: dict[str, PlanRule]) -> str:
    rule = rules.get(view.rule or "")
    if view.of is not None and view.wait_s is not None:
        return f"{view.rule} has {view.left} of {view.of} left, waits {elapsed(view.wait_s)}"
    rest = rule is None or ANY in rule.on
    causes = "all else" if rest else words.listed(view.causes)
    spent = " (budget spent)" if view.of is not None else ""
    return f"{causes} → {view.do}{spent}"
