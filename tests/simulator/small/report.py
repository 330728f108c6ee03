"""What the exploration of the small worlds came to, as a page: `docs/simulator/small-worlds.md`."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulator.small.explore import Explored
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

The faults: `call-late`, a call whose caller is told nothing, and which lands at any later step (a Start made and its
reply lost is one of these orders); `append-late`, the same of an append (stored and its reply lost, or stored after
another's); `crash`, a supervisor dies at any await and begins with nothing, while what it sent lands at any later
step; `stale-read`, a read lacks the newest one to {STALE_MAX} of the events that were new to it.

Bounds: one object, one rank, no run that ends by itself, as many passes as the table says. What is lost and never
lands is checked for safety in every state before it lands; that the job is settled without it is the seeded
simulator's to check. The laws are checked against the code, not proven: a world with one pass more could differ.
"""
COLUMNS = (
    "| asked | cluster | fault | passes | waits | states | steps | ends | interleavings | longest | core seconds |"
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
    return "\n".join([HEAD, total, "", COLUMNS, "|---|---|---|" + "---:|" * 8, *rows]) + "\n"


def _row(one: Explored) -> str:
    small = one.small
    cells = [small.about, small.shape, small.fault, str(small.passes), str(small.waits), f"{one.states:,}"]
    cells += [f"{one.steps:,}", f"{one.ends:,}", f"{one.interleavings:,}", str(one.longest), f"{one.seconds:.0f}"]
    return "| " + " | ".join(cells) + " |"


def _verdict(explored: Sequence[Explored]) -> str:
    broken = [f"{one.small.name}: {one.law}" for one in explored if one.law]
    cut = [one.small.name for one in explored if one.left]
    if not broken and not cut:
        return "Each was explored to the end, and no law broke."
    return f"Laws broken: {', '.join(broken) or 'none'}. Not explored to the end: {', '.join(cut) or 'none'}."
