"""Waits for proof that an execution is dead: before another may begin (L4), and before a job is settled (L3)."""

from __future__ import annotations

from projections.record import ObjectRecord, RunRecord
from projections.sightings import waiting_nodes
from projections.status import words
from projections.status.picture import Picture
from projections.status.view import Can
from projections.status.waits.waiting import PATIENCE, Waiting, cancel, dispose

LINES_MAX = 3


def proofs(picture: Picture) -> list[Waiting]:
    """One wait for every execution that is over and may still have a process somewhere."""
    return [_proof(picture, held, run) for held, run in picture.over_runs()]


def before(picture: Picture, held: ObjectRecord | None = None) -> str:
    """What the proof stands before: the next run of the same object, the next submission, or settlement."""
    record = picture.record
    newest = record.newest
    if record.over or newest is None:
        return "before the job is settled"
    if held is not None and held.submission == newest.number:
        return "before its next run may start"
    return f"before submission {newest.number} may start"


def _proof(picture: Picture, held: ObjectRecord, run: RunRecord) -> Waiting:
    nodes = waiting_nodes(run)
    name = words.execution(held, run.run)
    where = f" on {words.nodes_text(nodes)}" if nodes else ""
    return Waiting(
        what=f"proof that {name} is dead{where}, {before(picture, held)}",
        since=run.ended_at or held.missing_at or held.since,
        because=_because(picture, held, run, nodes),
        ends=proof_ends(picture, held, run),
        can=(*_attest(picture, held, nodes), *_give_up(picture, held, nodes), *_cancel(picture, nodes)),
        law="L3" if picture.record.over else "L4",
        patience=PATIENCE,
    )


def _because(picture: Picture, held: ObjectRecord, run: RunRecord, nodes: tuple[str, ...]) -> tuple[str, ...]:
    name = words.execution(held, run.run)
    if run.answer is None and not run.attested:
        return (f"{name} ended by {words.cause_text(run.cause)}, no word on its processes yet",)
    facts = [
        f"{state.node} is {state.state or 'unknown'}; may still run there: {words.listed(state.may_run)}"
        for state in run.node_states
        if state.node in nodes
    ]
    facts = facts[:LINES_MAX] or [f"{picture.called(held.ref)} says that processes of {name} may run"]
    known = len(run.nodes) - len([n for n in nodes if n in run.nodes])
    if run.nodes:
        facts.append(f"{known} of {len(run.nodes)} nodes proven")
    if run.attested:
        facts.append(f"attested by {run.attested_by or 'a person'}: {words.nodes_text(run.attested)}")
    return tuple(facts)


def proof_ends(picture: Picture, held: ObjectRecord, run: RunRecord) -> tuple[str, ...]:
    """What would prove it: per node, in the cluster's own terms, and a person's word."""
    nodes = waiting_nodes(run)
    if run.answer is None and not run.attested:
        return ("the scheduler's next answer about its processes",)
    if not nodes:
        return (f"the scheduler says that {words.execution(held, run.run)} has no process left",)
    where = words.nodes_text(nodes)
    ways = (f"{where} reboots", f"{where} reports no process of {held.ref.id}")
    if picture.kubernetes:
        ways = (f"{where} returns and confirms", "the Node is deleted, or tainted out-of-service (an operator's word)")
    return (*ways, f"someone attests that {where} is off")


def _attest(picture: Picture, held: ObjectRecord, nodes: tuple[str, ...]) -> tuple[Can, ...]:
    job = picture.record.job
    return tuple(
        Can(
            command=f'dispatch attest {node} --job {job} --is off --reason "…"',
            effect=f"takes {words.execution(held, held.run)} as dead on {node}",
            risk=f"ONLY if {node} truly is off: else two executions may write at once",
        )
        for node in nodes[:LINES_MAX]
    )


def _give_up(picture: Picture, held: ObjectRecord, nodes: tuple[str, ...]) -> tuple[Can, ...]:
    """Where no node is named, a person can only speak for the whole object."""
    if nodes:
        return ()
    risk = "ONLY if nothing of it runs: else two executions may write at once"
    return (dispose(picture.record, held.ref.id, "gone", "takes all of it as dead", risk),)


def _cancel(picture: Picture, nodes: tuple[str, ...]) -> tuple[Can, ...]:
    unproven = f"final; {words.nodes_text(nodes)} stays unproven" if nodes else "final"
    return cancel(picture.record, unproven)
