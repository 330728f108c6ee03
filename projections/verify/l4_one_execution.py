"""L4: never two executions at once.

Judged at every committed open, admit, and release that begins a run: each other object of the job, of any
submission and whoever made it (one disposed `ignore` apart), is seen ended, verified stopped or disposed of; every
run that began, of those objects and of this one, is proven gone; every requeue is over.

A run began if an open, admit or release of it was committed and not clearly refused, or if it was seen running or
ending, or ended with nodes. It is proven gone by a word spoken after it began: observed, presumed by the cluster's
policy, or of persons for every node that was still in doubt; or by a person's `gone` for the object. Of two
readings (an object's last run, every run) this is the stricter one, the law's own.

An open of what is not canonical is L1's; here it is judged only against what had begun.
"""

from __future__ import annotations

from collections.abc import Iterator

from projections.verify.executions import BEGINS, LIVE, ObjectFacts, RunFacts
from projections.verify.facts import Facts, Stored
from streams.messages.events import CallCommitted
from streams.messages.values import Phase, Verb

LAW = "L4"


def check(facts: Facts, stored: Stored) -> Iterator[str]:
    """What may still run when this event opens a gate."""
    event = stored.envelope.event
    if not isinstance(event, CallCommitted) or event.verb not in BEGINS or event.run is None:
        return
    what = f"{event.verb.value} of {event.object.id if event.object else 'no object'} run {event.run} committed"
    for call in facts.calls.values():
        if call.verb is Verb.REQUEUE and not call.over(event.as_of):
            yield f"{what} while {call.what} may still land"
    for held in facts.objects.values():
        if held.ref == event.object:
            yield from (f"{what}, {why}" for why in _own_runs(held, event.run))
        elif held.counts:
            gate = event.object is not None and facts.is_canonical(event.object)
            yield from (f"{what}, {why}" for why in _other(facts, held, gate=gate))


def _own_runs(held: ObjectFacts, run: int) -> Iterator[str]:
    if held.phase in LIVE and held.run < run and not held.missing:
        yield f"but run {held.run} was last seen {held.phase.value}"
        return
    for earlier in held.unproven:
        if earlier.run < run and not _at_its_gate(held, earlier):
            yield f"but processes of its run {earlier.run} are not proven gone"
        elif earlier.run == run and earlier.ran and held.phase is Phase.GATED:
            yield f"but run {run} of it ran before it came back to its gate, and is not proven gone"


def _at_its_gate(held: ObjectFacts, run: RunFacts) -> bool:
    """The latest Find shows this run, or an earlier one, still to come: what was opened has not begun it.

    So on Kubernetes, where an undecided admission is answered by a new number.
    """
    return held.phase is Phase.GATED and held.run <= run.run and not run.ran


def _other(facts: Facts, held: ObjectFacts, *, gate: bool) -> Iterator[str]:
    if not facts.accounted(held):
        if gate or any(run.begun for run in held.runs.values()):
            seen = "is absent, which is no end" if held.missing or held.phase is None else f"is {held.phase.value}"
            yield f"but {held.name} {seen}"
        return
    for run in held.unproven:
        yield f"but processes of {held.name} run {run.run} are not proven gone"
