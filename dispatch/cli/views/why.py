"""`dispatch why JOB`: which condition stops the next step, and which clause stops settlement."""

from __future__ import annotations

from dispatch.cli.columns import beside, pad, wrap_items, wrapped
from dispatch.cli.screen import clean
from dispatch.cli.views.frame import NATURES, Frame
from dispatch.cli.views.status import wait_lines
from dispatch.why import ConditionView, Why, why
from projections.status import State, Wait, since_of

NAME_MIN = 36


def why_lines(frame: Frame, told: Why, *, everything: bool) -> list[str]:
    """The whole answer. `everything`: conditions and clauses that hold get a line of their own too."""
    lines = beside(*_first(frame, told), frame.width)
    if told.state is State.QUEUED:
        lines += [line for wait in told.waits for line in _facts(frame, wait)]
    lines += _conditions(frame, told.conditions if not _is_settlement(told) else (), everything=True)
    lines += [line for wait in told.waits if _own(told, wait) for line in wait_lines(frame, wait)]
    if told.if_it_ends is not None:
        sentence = told.if_it_ends.sentence
        head, _, rest = sentence.partition(": ")
        lines += wrap_items(f"{head}: ", rest.split("; "), frame.width, joiner="; ")
    return [*lines, *_settlement(frame, told, everything=everything)]


def _first(frame: Frame, told: Why) -> tuple[str, str]:
    """The answer, and what stands at the end of its line."""
    since = since_of(frame.record)
    if told.next_step is None:
        return f"{told.job} is settled #{frame.record.settled_number}: {told.state.value}", ""
    if told.state is State.QUEUED and told.waits:
        wait = told.waits[0]
        place = frame.record.spec.cluster if frame.record.spec else ""
        reason = clean(frame.times.local(wait.what)).split(", to start ")[0]
        live = " (live)" if told.live else ""
        return f"queued {frame.times.since(since)} on {place}: {reason}{live}", NATURES[wait.nature.value]
    step = f"next step: {clean(frame.times.local(told.next_step))}"
    if told.blocked_by:
        return step, f"blocked by {told.blocked_by} of {len(told.conditions)} conditions"
    return step, "" if told.next_step.startswith("none") else "nothing blocks it"


def _own(told: Why, wait: Wait) -> bool:
    """Waits that the conditions do not tell: those that need a person, with what can be done."""
    return wait.nature.needs_person and told.state is not State.QUEUED


def _facts(frame: Frame, wait: Wait) -> list[str]:
    local = frame.times.local
    lines = [line for fact in wait.because for line in wrapped("  ", clean(local(fact)), frame.width)]
    lines += wrap_items("  ends: ", [clean(local(end)) for end in wait.ends], frame.width) if wait.ends else []
    return lines + [f"  you can: {can.command}   {can.effect}" for can in wait.can]


def _conditions(frame: Frame, conditions: tuple[ConditionView, ...], *, everything: bool) -> list[str]:
    local = frame.times.local
    shown = [each for each in conditions if everything or not each.holds]
    width = max([NAME_MIN, *(len(_name(each)) for each in shown)]) if shown else 0
    lines = []
    for each in shown:
        lines += _told(frame, pad(_name(each), width) if not each.holds else each.name, each.holds, each.waits_for)
        if each.ends:
            lines += wrap_items("       ends by: ", [clean(local(end)) for end in each.ends], frame.width)
    return lines


def _name(each: ConditionView) -> str:
    return f"{each.name}  ({each.law})" if each.law and not each.holds else each.name


def _told(frame: Frame, name: str, holds: bool, waits_for: tuple[str, ...]) -> list[str]:  # noqa: FBT001  a condition is a name and whether it holds
    """One condition or clause: yes, or NO with what it waits for, a fact a line."""
    if holds:
        return [f"  yes  {name}"]
    facts = [clean(frame.times.local(fact)) for fact in waits_for] or [""]
    lead = f"  NO   {name} "
    lines = wrapped(lead, facts[0], frame.width)
    for fact in facts[1:]:
        lines += wrapped(" " * len(lead), fact, frame.width)
    return [frame.screen.paint(lines[0][:5], "red") + lines[0][5:].rstrip(), *lines[1:]]


def _is_settlement(told: Why) -> bool:
    """Whether the next step is settlement: its conditions are the clauses, told below."""
    return told.next_step == "settle the job"


def _settlement(frame: Frame, told: Why, *, everything: bool) -> list[str]:
    clauses = told.settled.clauses
    if told.settled.holds:
        return []
    held = [clause for clause in clauses if clause.holds]
    lines = [f"settled: {len(held)} of {len(clauses)} clauses hold"]
    for clause in clauses:
        if not clause.holds:
            lines += _told(frame, pad(clause.name, NAME_MIN), clause.holds, clause.waits_for)
    if everything:
        return lines + [f"  yes  {clause.name}" for clause in held]
    return lines + (wrap_items("  yes  ", [clause.name for clause in held], frame.width) if held else [])


def answer(frame: Frame) -> Why:
    """What is told, as a value."""
    return why(frame.record, frame.around)
