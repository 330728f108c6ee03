"""`dispatch status JOB`: the state and whether a person is needed first, then the waits, then the tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from dispatch.cli.columns import beside, cells, cut, flush, pad, table, wrap_items, wrapped
from dispatch.cli.screen import clean
from dispatch.cli.times import elapsed
from dispatch.cli.views.frame import NATURES, PAINT_OF_STATE, Frame, short_id
from projections.status import SETTLED, State, Status, Wait, since_of
from projections.status import words as naming
from projections.status.tables import note_of
from projections.status.view import CancelView, HoldView
from streams.messages.values import Phase

LABEL = 9
HOLD_KINDS = ("person", "rule", "admin", "launch-failed")
WAITING_STATES = frozenset({State.ACCEPTED, State.LAUNCHING, State.QUEUED, State.RECOVERING, State.HELD})


def status_lines(frame: Frame, told: Status) -> list[str]:
    """The whole view of one job. `told` may leave out what was not asked for."""
    return [
        *headline(frame, told),
        *(line for wait in told.waits for line in wait_lines(frame, wait)),
        *_costs(frame, told),
        *_objects(frame, told),
        *_executions(frame, told),
        *_budgets(frame, told),
        *_holds(frame, told),
        *_calls(frame, told),
        *(_cancel(frame, told.cancel) if told.cancel is not None else []),
    ]


def headline(frame: Frame, told: Status) -> list[str]:
    """The answer in one line, and of when it is."""
    paint = frame.screen.paint
    name = told.state.value.upper()
    state = paint(name, *PAINT_OF_STATE.get(told.state.value, ("red",) if told.needs_person else ("yellow",)))
    parts = [told.job, state]
    below: list[str] = []
    if told.state in SETTLED:
        facts = _ran(frame, told)
        while len(facts) > 1 and cells(f"{told.job}  {name}  {' · '.join(facts)}") > (frame.width or 1000):
            below.insert(0, facts.pop())
        parts.append(" · ".join(facts))
    else:
        since = since_of(frame.record)
        verb = "waits " if told.state in WAITING_STATES else ""
        parts.append(f"{verb}{frame.times.since(since)}")
    alerts = [alert.value for alert in told.alerts]
    if told.needs_person:
        parts.append(paint("NEEDS A PERSON", "red", "bold"))
    if alerts:
        parts.append(paint(" ".join(alerts), "red" if told.needs_person else "yellow"))
    line = "  ".join(parts)
    bare = re.sub(r"\x1b\[[0-9;]*m", "", line)
    fits = frame.width is None or cells(bare) + 2 + cells(frame.place()) <= frame.width
    first = line + flush(bare, frame.place(), frame.width)[len(bare) :] if fits else line
    below += [] if fits else [frame.place()]
    return [first, *wrap_items("", [*below, *frame.as_of()], frame.width)]


def _ran(frame: Frame, told: Status) -> list[str]:
    """`settled #58 · ran 19h42m in 3 executions · 1,260 GPU-hours`; the time of runs too short to be seen is not known."""
    seconds = sum(
        (run.ended_at - run.started_at).total_seconds() for run in told.executions if run.started_at and run.ended_at
    )
    count = len(told.executions)
    parts = [f"settled #{frame.record.settled_number}"]
    if count:
        parts.append(f"ran {elapsed(seconds)} in {count} execution{'s' if count > 1 else ''}{_ended_otherwise(frame)}")
    spec = frame.record.spec
    if spec is not None and spec.resources.gpus_per_node and count:
        parts.append(f"{seconds / 3600 * spec.nodes * spec.resources.gpus_per_node:,.0f} GPU-hours")
    return parts


def _ended_otherwise(frame: Frame) -> str:
    """` (2 preempted, 1 node-lost)`: how executions before the last one ended."""
    runs = [run for held in frame.record.objects.values() for run in held.runs if run.started_at and run.ended]
    runs.sort(key=lambda run: (run.started_at, run.run))
    counts = Counter(run.cause.kind.value for run in runs[:-1] if run.cause is not None)
    told = [f"{count} {kind}" for kind, count in counts.most_common()]
    return f" ({', '.join(told)})" if told else ""


def wait_lines(frame: Frame, wait: Wait) -> list[str]:
    """One wait in its five parts."""
    nature = NATURES[wait.nature.value]
    aside = f"{frame.times.since(wait.since)}, {nature}" if wait.since else nature
    local = frame.times.local
    what = wrapped("WAITS FOR  ", clean(local(wait.what)), frame.width)
    first = beside(what[-1], aside, frame.width)
    since = frame.times.at(wait.since) if wait.since is not None else ""
    if len(first) > 1:
        since, first = f"{since}  {aside}".strip(), first[:1]
    what = [*what[:-1], *first]
    lines = [frame.screen.paint(line, "red") for line in what] if wait.nature.needs_person else what
    if since:
        lines.append(_labelled("since", since))
    for number, fact in enumerate(wait.because):
        label = _labelled("because" if number == 0 else "", "")
        lines += wrapped(label, clean(local(fact)), frame.width)
    if wait.ends:
        lines += wrap_items(f"  {'ends':<{LABEL}}", [clean(local(end)) for end in wait.ends], frame.width)
    width = max((len(can.command) for can in wait.can), default=0)
    for number, can in enumerate(wait.can):
        effect = " · ".join(part for part in (can.effect, can.risk) if part)
        lines += _way(frame, "you can" if number == 0 else "", pad(can.command, width), effect)
    return lines


def _way(frame: Frame, label: str, command: str, effect: str) -> list[str]:
    """A line to paste is never cut; its effect goes below it where there is no room beside."""
    beside = _labelled(label, f"{command}   {effect}")
    if frame.width is None or len(beside) <= frame.width:
        return [beside]
    return [_labelled(label, command.rstrip()), *wrapped(_labelled("", "    "), effect, frame.width)]


def _labelled(label: str, text: str) -> str:
    return f"  {label:<{LABEL}}{text}"


def _costs(frame: Frame, told: Status) -> Iterator[str]:
    """What the waiting costs."""
    if not told.waits or frame.record.settled:
        return
    spec = frame.record.spec
    on = [o for o in frame.record.objects.values() if o.phase in (Phase.RUNNING, Phase.ENDING) and not o.accounted]
    gpus = sum(spec.nodes * spec.resources.gpus_per_node for _ in on) if spec is not None else 0
    gated = sum(each.state == "gated" for each in told.objects)
    objects = f"; {gated} gated object{'s' if gated != 1 else ''} in the queue" if gated else ""
    held = (
        f"{gpus} GPU{'s' if gpus != 1 else ''} held"
        if spec and spec.resources.gpus_per_node
        else f"{len(on)} object{'s run' if len(on) != 1 else ' runs'} on"
    )
    yield _labelled("costs", held + objects)


def _objects(frame: Frame, told: Status) -> list[str]:
    """Every object and every attempt without one."""
    rows = [["SUB/ATT", "OBJECT", "ROLE", "STATE", "SINCE", "CAUSE / NOTE"]]
    picture = frame.picture
    views = {(each.id, each.uid): each for each in told.objects}
    for ref, held in frame.record.objects.items():
        view = views.get((ref.id, ref.created))
        if view is None:
            continue
        numbers = f"{held.submission}/{held.attempt}" if held.submission is not None else "-"
        note = clean(note_of(picture, ref))
        called = picture.called(ref).replace(ref.id, short_id(told.job, ref.id))
        rows.append([numbers, called, view.role, view.state, frame.times.at(view.since), note])
    shown = {(held.submission, held.attempt) for held in frame.record.objects.values()}
    numbers_told = {each.n for each in told.submissions}
    for attempt in frame.record.attempts:
        if (attempt.submission, attempt.attempt) in shown or attempt.submission not in numbers_told:
            continue
        reply = "given up" if attempt.given_up else attempt.reply.value if attempt.reply else "no answer yet"
        numbers = f"{attempt.submission}/{attempt.attempt}"
        rows.append([numbers, "-", "-", reply, frame.times.at(attempt.at), clean(attempt.detail)])
    return table(rows, free=5, width=frame.width) if len(rows) > 1 else []


def _executions(frame: Frame, told: Status) -> list[str]:
    rows = [["EXECUTION", "EPOCH", "OBJECT", "STARTED", "RAN", "NODES", "ENDED BY", "PROCESSES"]]
    for run in told.executions:
        end = run.ended_at or (frame.times.now if run.processes == "running" else None)
        ran = elapsed((end - run.started_at).total_seconds()) if run.started_at and end else "-"
        rows.append(
            [
                run.id,
                str(run.epoch),
                short_id(told.job, run.object),
                frame.times.at(run.started_at),
                ran,
                naming.nodes_text(run.nodes) or "-",
                run.cause or "-",
                run.processes,
            ]
        )
    return table(rows, free=7, width=frame.width) if len(rows) > 1 else []


def _budgets(frame: Frame, told: Status) -> list[str]:
    parts = []
    for budget in told.budgets:
        wait = f" (next wait {elapsed(budget.next_wait_s)})" if budget.used and budget.used < budget.of else ""
        parts.append(f"{budget.rule} {budget.used}/{budget.of}{wait}")
    avoids = f"AVOIDS {naming.nodes_text(told.avoids)}" if told.avoids else ""
    if not parts and not avoids:
        return []
    lines = wrap_items("BUDGETS  ", parts or ["none"], frame.width)
    return [*lines[:-1], *beside(lines[-1], avoids, frame.width)]


def _holds(frame: Frame, told: Status) -> list[str]:
    gate = {
        "shut": "GATE shut (dispatch's own, no hold)",
        "opening": "GATE opening (asked, not seen yet)",
        "open": "GATE open",
    }.get(told.gate, "")
    counts = {kind: [hold for hold in told.holds if hold.kind == kind] for kind in HOLD_KINDS}
    counts |= {hold.kind: [h for h in told.holds if h.kind == hold.kind] for hold in told.holds}
    text = " · ".join(f"{kind} {len(holds)}" for kind, holds in counts.items())
    return [*beside(f"HOLDS    {text}", gate, frame.width), *(_hold(frame, hold) for hold in told.holds)]


def _hold(frame: Frame, hold: HoldView) -> str:
    who = clean(hold.by) or "the scheduler"
    reason = f' "{clean(hold.reason)}"' if hold.reason else ""
    where = ", on the object" if hold.on_object else ", not on an object yet"
    instance = f" (instance {hold.instance})" if hold.instance else ""
    room = None if frame.width is None else frame.width - LABEL - 2
    return _labelled("", cut(f"{hold.kind}: {who} {frame.times.at(hold.since)}{reason}{where}{instance}", room))


def _calls(frame: Frame, told: Status) -> list[str]:
    calls = [
        f"{call.kind} sent {frame.times.at(call.sent_at)}, over {frame.times.at(call.over_at)} at the latest"
        for call in told.calls
    ]
    holds = sum(clause.holds for clause in told.settled.clauses)
    settled = "yes" if told.settled.holds else f"no, {holds} of {len(told.settled.clauses)} clauses: see why"
    cancel = "" if told.cancel is not None else "CANCEL not asked"
    parts = [f"CALLS    {' · '.join(calls) or 'none in flight'}", cancel, f"SETTLED {settled}"]
    line = "          ".join(part for part in parts if part)
    if frame.width is None or len(line) <= frame.width:
        return [line]
    return [*wrap_items("CALLS    ", calls or ["none in flight"], frame.width), "  ".join(filter(None, parts[1:]))]


def _cancel(frame: Frame, cancel: CancelView) -> list[str]:
    record = frame.record.cancel
    assert record is not None
    at = frame.times.at
    note = f' "{clean(record.note)}"' if record.note else ""
    stages = [
        f"asked {at(cancel.asked_at)} {record.by}{note}",
        f"committed #{cancel.committed.number} {at(cancel.committed.at)}",
    ]
    if cancel.stopped is not None:
        stages.append(f"stopped #{cancel.stopped.number} {at(cancel.stopped.at)}")
    if cancel.complete is not None:
        stages.append(f"complete #{cancel.complete.number} {at(cancel.complete.at)}")
    lines = wrap_items("CANCEL   ", stages, frame.width, joiner=" → ")
    local = frame.times.local
    for what in cancel.blocked_by:
        lines += wrapped(f"{'':<{LABEL}}clean-up incomplete: ", clean(local(what)), frame.width)
    return lines
