"""What the exploration of the small worlds came to, as a page: `docs/simulator/small-worlds.md`."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulator.small.explore import BOTH, SENT, STRUCK, Explored
from tests.simulator.small.world import STALE_MAX, WAIT

HEAD = f"""# Small worlds, all of them

Written by `make small`; not edited. The simulator samples; here nothing is sampled. Two supervisors run the real
pass, the real commands and the real calls on one job, one fault strikes once or not at all, and **every** order of
what can happen is gone along. A coroutine cannot be copied, so a state is reached again by replay from the start
along its choices. After every step every law is checked, by the checkers of the seeded simulator; at every end the
quiet phase follows, and the job must be settled.

- **step**: one thing happens: a call arrives at the scheduler's host; it lands, and its answer is used; an append or
  a read is carried out; the cluster moves; a supervisor begins a pass or receives the command; {WAIT.seconds} s pass; the fault.
- **state**: the history, the cluster's ground truth, what every coroutine was answered, what is still on its way and
  what may still come. Two ways to an equal state are gone on from once. Ids count by their place in the history,
  instants by their whole second and their order within it; the two supervisors are interchangeable.
- **interleavings**: the different ways from the beginning to an end, counted over the graph of states.
- **passes**: how many may begin in all, by whichever supervisor, in whatever order.
- **begins**: a cancel and a requeue are of a job that is recorded as running. `asked`, the command is on the bus, and
  the passes may come before it; `recorded`, its event is in the history and no pass has seen it; `called`, the first
  StopJob or the requeue call has landed and is replied, and what follows it is explored: the second StopJob and the
  settlement, or the landing in the gate and its opening. The way up to there is gone along in one order.
- **contended**: states in which both supervisors were in a pass. **sent**: the calls, and in how many states each had
  been sent since the beginning. **struck**: what the fault struck, and in how many states it had. A world in which the
  fault struck in no state, or whose own call (and with `call-late`, that call's loss) was seen in none, fails.

The faults: `call-late`, a call whose caller is told nothing, and which lands at any later step (a Start made and its
reply lost is one of these orders); `append-late`, the same of an append (stored and its reply lost, or stored after
another's); `crash`, a supervisor dies at any await and begins with nothing, while what it sent lands at any later
step; `stale-read`, a read lacks the newest one to {STALE_MAX} of the events that were new to it.

Bounds: one object, one rank, no run that ends by itself, as many passes as the table says. What is lost and never
lands is checked for safety in every state before it lands; that the job is settled without it is the seeded
simulator's to check. The laws are checked against the code, not proven: a world with one pass more could differ. So
that all of them together stay near a quarter of an hour, the faults that leave most orders open have fewer passes.
"""
COLUMNS = (
    "| about | begins | cluster | fault | passes | waits | states | steps | ends | interleavings | longest"
    " | contended | sent | struck | core seconds |"
)


def page(explored: Sequence[Explored]) -> str:
    """The whole page, a row a world."""
    rows = [_row(one) for one in explored]
    states, steps = sum(one.states for one in explored), sum(one.steps for one in explored)
    ways = sum(one.interleavings for one in explored)
    total = (
        f"{len(explored)} worlds: {states:,} states by {steps:,} steps, which stand for {ways:,} interleavings."
        f" {_verdict(explored)}"
    )
    return "\n".join([HEAD, total, "", COLUMNS, "|---|---|---|---|" + "---:|" * 8 + "---|---|---:|", *rows]) + "\n"


def _row(one: Explored) -> str:
    small = one.small
    cells = [small.about, small.begins, small.shape, small.fault, str(small.passes), str(small.waits)]
    cells += [f"{count:,}" for count in (one.states, one.steps, one.ends, one.interleavings, one.longest)]
    cells += [f"{one.tally[BOTH]:,}", _counted(one, SENT), _counted(one, STRUCK), f"{one.seconds:.0f}"]
    return "| " + " | ".join(cells) + " |"


def _counted(one: Explored, kind: str) -> str:
    """By what was sent, or struck, in how many states it had been."""
    found = sorted((what.removeprefix(kind), count) for what, count in one.tally.items() if what.startswith(kind))
    return ", ".join(f"{what} {count:,}" for what, count in found) or "-"


def _verdict(explored: Sequence[Explored]) -> str:
    broken = [f"{one.small.name}: {one.law}" for one in explored if one.law]
    cut = [one.small.name for one in explored if one.left]
    lacking = [f"{one.small.name}: {what}" for one in explored for what in one.lacks]
    if not broken and not cut and not lacking:
        return "Each was explored to the end and showed what it is there for, and no law broke."
    return (
        f"Laws broken: {', '.join(broken) or 'none'}. Not explored to the end: {', '.join(cut) or 'none'}."
        f" Not shown: {', '.join(lacking) or 'nothing'}."
    )
