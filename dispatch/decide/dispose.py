"""Dispose and attest: a person's word on what the record cannot settle by itself."""

from __future__ import annotations

from dispatch.decide.answers import Answered, Decided, Facts, Refused
from projections.record import ALIVE, AttemptRecord, ObjectRecord, Record, RunRecord
from projections.sightings import waiting_nodes
from streams.messages.commands import AttestNodeOff, Dispose
from streams.messages.events import CessationSeen, TargetDisposed
from streams.messages.plan import PERSON
from streams.messages.reasons import Reason, RefusalCode
from streams.messages.values import (
    AttemptRef,
    CessationAnswer,
    CessationBasis,
    Disposition,
    MessageRef,
    NodeState,
    Phase,
    Target,
)


def dispose(record: Record, command: Dispose, facts: Facts) -> Answered:
    """A person's decision about a message, an attempt or an object of which something is in doubt."""
    target = command.target
    if record.empty:
        return Refused(RefusalCode.NO_SUCH_JOB, f'no job "{record.job}" was ever submitted: check the name')
    if isinstance(target, MessageRef):
        return _message(record, target, command.disposition, facts)
    if record.settled:
        return Refused(
            RefusalCode.TARGET_NOT_DISPOSABLE, f'"{record.job}" is settled, and nothing is decided about it any more'
        )
    if isinstance(target, AttemptRef):
        return _attempt(record, target, command.disposition, facts)
    held = record.objects.get(target)
    if held is None:
        return Refused(RefusalCode.TARGET_UNKNOWN, f'object "{target.id}" is not recorded: see dispatch status')
    return _object(record, held, command.disposition, facts)


def _decided(target: Target, disposition: Disposition, facts: Facts) -> Decided:
    as_of = facts.found.as_of if facts.found else None
    event = TargetDisposed(target=target, disposition=disposition, rule=PERSON, as_of=as_of)
    return Decided(event, Reason.PERSON_DISPOSED)


def _message(record: Record, target: MessageRef, disposition: Disposition, facts: Facts) -> Answered:
    strange = next((s for s in record.strange if s.revision == target.revision), None)
    floor = facts.found.floor if facts.found else None
    lacked = floor is not None and floor.revision == target.revision
    lacked = lacked and floor is not None and record.intents.get(floor.revision) != floor.nonce
    if strange is None and not lacked:
        return Refused(
            RefusalCode.TARGET_UNKNOWN, f"r{target.revision} is neither quarantined nor missing from this history"
        )
    if strange is not None and strange.upgrade:
        return Refused(
            RefusalCode.TARGET_NOT_DISPOSABLE,
            f"r{target.revision} is of type {strange.text}, which a newer release knows: upgrade this one",
        )
    if disposition is not Disposition.IGNORE:
        return Refused(RefusalCode.TARGET_NOT_DISPOSABLE, "a message can only be ignored")
    return _decided(target, disposition, facts)


def _attempt(record: Record, target: AttemptRef, disposition: Disposition, facts: Facts) -> Answered:
    attempt = record.attempt(target.submission, target.attempt)
    name = f"{target.submission}/{target.attempt}"
    if attempt is None:
        return Refused(RefusalCode.TARGET_UNKNOWN, f"attempt {name} was never committed")
    if not attempt.unmatched:
        return Refused(RefusalCode.TARGET_NOT_DISPOSABLE, f"attempt {name} is not unmatched: {_known_of(attempt)}")
    if disposition is not Disposition.GONE:
        return Refused(RefusalCode.TARGET_NOT_DISPOSABLE, "an attempt without an object can only be given up as gone")
    return _decided(target, disposition, facts)


def _known_of(attempt: AttemptRecord) -> str:
    if attempt.object is not None:
        return f"it made {attempt.object.id}"
    return "it was given up before" if attempt.given_up else "it was clearly refused"


def _object(record: Record, held: ObjectRecord, disposition: Disposition, facts: Facts) -> Answered:
    if not _disposable(held):
        return Refused(
            RefusalCode.TARGET_NOT_DISPOSABLE,
            f"{held.ref.id} is this job's own object and nothing about it is in doubt",
        )
    if disposition is Disposition.GONE:
        return _gone(held, facts)
    if disposition is Disposition.ADOPT:
        return _adopt(record, held, facts)
    return _decided(held.ref, disposition, facts)


def _disposable(held: ObjectRecord) -> bool:
    doubtful = held.missing and not held.accounted
    return (
        held.foreign
        or doubtful
        or (held.phase is Phase.ENDED and bool(held.unproven))
        or (held.accounted and bool(held.unproven))
    )


def _gone(held: ObjectRecord, facts: Facts) -> Answered:
    if facts.found is None:
        return Refused(
            RefusalCode.STILL_ALIVE, "the scheduler does not answer, so nobody can say that it is gone: try again"
        )
    alive = any(s.object == held.ref and s.phase in ALIVE for s in facts.found.sightings)
    if alive:
        return Refused(RefusalCode.STILL_ALIVE, f"the scheduler shows {held.ref.id} not ended: stop it instead")
    return _decided(held.ref, Disposition.GONE, facts)


def _adopt(record: Record, held: ObjectRecord, facts: Facts) -> Answered:
    if not held.foreign or not record.adoptable:
        return Refused(
            RefusalCode.NO_ATTEMPT_TO_ADOPT,
            f"no attempt of the newest submission waits for an object, so {held.ref.id} can answer none: stop or ignore it",
        )
    attempt = record.adoptable[0]
    event = TargetDisposed(
        target=held.ref,
        disposition=Disposition.ADOPT,
        rule=PERSON,
        submission=attempt.submission,
        attempt=attempt.attempt,
        as_of=facts.found.as_of if facts.found else None,
    )
    return Decided(event, Reason.PERSON_DISPOSED)


def attest(record: Record, command: AttestNodeOff, facts: Facts) -> Answered:
    """A person's word that nothing of one run lives on one node; kept apart from observed proof."""
    held = record.objects.get(command.object)
    run = held.run_record(command.run) if held else None
    if held is None or run is None or command.node not in waiting_nodes(run) or not _waits(held, run):
        return Refused(
            RefusalCode.NODE_NOT_WAITED_FOR,
            f"run {command.run} of {command.object.id} does not wait for {command.node}: see dispatch why",
        )
    as_of = facts.found.as_of if facts.found else record.as_of or facts.now
    event = CessationSeen(
        object=held.ref,
        run=command.run,
        answer=CessationAnswer.CEASED,
        basis=CessationBasis.OPERATOR,
        nodes=(NodeState(node=command.node, state=command.state.value),),
        as_of=as_of,
        attested_by=facts.actor,
    )
    return Decided(event, None)


def _waits(held: ObjectRecord, run: RunRecord) -> bool:
    return run.ended or held.missing or held.accounted
