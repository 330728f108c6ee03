"""Every event as one sentence and its code, as `dispatch history` shows it.

A sentence says what the event says and no more: an unknown reply may have made an object, an object that is not
shown has not ended. The code is the decision's reason, or one word for what was seen.
"""

from __future__ import annotations

from typing import NamedTuple

from projections.known import Known, listed, node_list
from streams.messages import events
from streams.messages.events import Decision, Envelope
from streams.messages.values import (
    AttemptRef,
    Cause,
    CessationAnswer,
    CessationBasis,
    HoldKind,
    MessageRef,
    ObjectRef,
    Phase,
    ReplyOutcome,
    Sighting,
    StopBasis,
    Target,
    Verb,
    epoch_of,
)

CALLS = {
    Verb.START: "Start",
    Verb.OPEN: "Open",
    Verb.ADMIT: "Admit",
    Verb.HOLD: "Hold",
    Verb.RELEASE: "Release",
    Verb.REQUEUE: "Requeue",
    Verb.STOP: "Stop",
    Verb.STOP_JOB: "StopJob",
}


class Told(NamedTuple):
    """One event in words, and its code."""

    sentence: str
    code: str


def tell(known: Known, envelope: Envelope) -> Told:
    """The event in words. `known` holds everything before it."""
    event = envelope.event
    if isinstance(event, Decision):
        sentence = _decision(known, event)
        code = envelope.reason.value if envelope.reason is not None else ""
        if isinstance(event, events.SubmissionAuthorized | events.RequeueAuthorized) and event.rule in known.budgets:
            code = f"{code} {event.rule}.{known.uses.get(event.rule, 0) + 1}"
        told = Told(sentence, code)
    elif isinstance(event, events.CallReplied):
        told = _reply(known, event)
    elif isinstance(event, events.ObjectsSeen):
        told = _find(known, event)
    else:
        told = _cessation(known, event, envelope)
    return told._replace(sentence=f'{told.sentence} "{envelope.note}"') if envelope.note else told


def _decision(known: Known, event: Decision) -> str:
    match event:
        case events.JobSubmitted(spec=spec):
            held = f', held: "{spec.hold}"' if spec.hold is not None else ""
            return f"submitted: {spec.nodes} × {spec.ranks_per_node} ranks on {spec.cluster}{held}"
        case events.SubmissionAuthorized() | events.RequeueAuthorized():
            return _authorized(known, event)
        case events.AttemptCommitted(submission=submission, attempt=attempt):
            most = known.spec.attempts_max if known.spec is not None else 0
            place = known.place(submission)
            then = ", then Start is sent" if place == 1 else f" ({place} of {most})"
            return f"attempt {submission}/{attempt} committed{then}"
        case events.CanonicalChosen(object=ref):
            return f"{known.name(ref)} is canonical"
        case events.ObjectRetired(object=ref):
            return f"{known.name(ref)} retired"
        case events.CallCommitted():
            return f"{_call(known, event)} intended, then sent"
        case events.StopVerified(object=ref, run=run, basis=StopBasis.PROCESSES_GONE):
            return f"{known.name(ref)} verified stopped: the processes of {known.execution(ref, run)} are gone"
        case events.StopVerified(object=ref):
            return f"{known.name(ref)} verified stopped: its stop was done and a later Find lacks it"
        case events.TargetDisposed():
            return _disposed(known, event)
        case events.OutcomeDecided(outcome=outcome, cause=cause, submission=submission):
            return f"{outcome.value}: submission {submission} ended by {_cause(cause)}"
        case events.JobSettled():
            return "settled: everything is accounted for"
        case _:
            return _wish(event)


def _wish(event: Decision) -> str:
    """What is wanted of the job, or of a tenant's retries."""
    match event:
        case events.HoldAsked(instance=instance, rule=rule, kind=kind, now=now):
            who = f" by rule {rule}" if kind is HoldKind.RULE else ""
            return f"hold{who} (instance {instance}): no further run" + (", and the present one ends" if now else "")
        case events.HoldLifted(instances=instances):
            return f"release of {listed(instances)}"
        case events.JobCancelled(lifted=lifted, dropped=dropped):
            also = [f"{listed(lifted)} lifted"] if lifted else []
            also += [f"{listed(dropped)} dropped"] if dropped else []
            return f"cancel ({'; '.join(also)})" if also else "cancel"
        case events.ControlsSet(cluster=cluster, retries=retries, brake_until_at=until, observe=observe):
            brake = f", brake until {until:%H:%M:%S}" if until is not None else ""
            what = f"retries {'on' if retries else 'off'}{brake}{', observe' if observe else ''}"
            return f"{what} on {cluster or 'every cluster'}"
        case _:
            return type(event).__name__


def _authorized(known: Known, event: events.SubmissionAuthorized | events.RequeueAuthorized) -> str:
    use = f", {known.use(event.rule)}" if event.rule in known.budgets else ""
    if isinstance(event, events.RequeueAuthorized):
        execution = known.execution(event.object, event.run)
        return f"requeue of {known.name(event.object)} authorized, to follow {execution}{use}"
    avoid = f", avoid {node_list(event.avoid_nodes)}" if event.avoid_nodes else ""
    return f"submission {event.submission} authorized{use}{avoid}"


def _call(known: Known, event: events.CallCommitted) -> str:
    words = [CALLS[event.verb]]
    if event.object is not None:
        words.append(known.name(event.object))
        if event.run is not None:
            what = "to end" if event.verb is Verb.REQUEUE else "to begin"
            words.append(f"{what} {known.execution(event.object, event.run)}")
    if event.instances:
        words.append(f"({listed(event.instances)})")
    return " ".join(words)


def _target(known: Known, target: Target) -> str:
    match target:
        case ObjectRef():
            return known.name(target)
        case AttemptRef(submission=submission, attempt=attempt):
            return f"attempt {submission}/{attempt}"
        case MessageRef(revision=revision):
            return f"message r{revision}"


def _disposed(known: Known, event: events.TargetDisposed) -> str:
    what = _target(known, event.target)
    if event.rule == "unmatched":
        return f"{what} given up: no reply, never found, and its Start can no longer land"
    answers = f" for {event.submission}/{event.attempt}" if event.submission is not None else ""
    return f"{what} disposed of: {event.disposition.value}{answers}"


def _cause(cause: Cause) -> str:
    detail = [f"exit {cause.exit_code}"] if cause.exit_code is not None else []
    detail += [f"signal {cause.signal}"] if cause.signal is not None else []
    detail += [f"rank {cause.rank}"] if cause.rank is not None else []
    detail += [node_list(cause.nodes)] if cause.nodes else []
    return f"{cause.kind.value} ({', '.join(detail)})" if detail else cause.kind.value


def _reply(known: Known, event: events.CallReplied) -> Told:
    start = known.starts.get(event.call)
    committed = known.calls.get(event.call)
    detail = f": {event.detail}" if event.detail else ""
    if start is not None:
        what = f"Start {start[0]}/{start[1]}"
        if event.outcome is ReplyOutcome.DONE:
            made = f"{event.object.cluster} {known.name(event.object)}" if event.object is not None else "an object"
            return Told(f"{what} made {made}", "done")
        may = "it may exist"
    else:
        what = _call(known, committed) if committed is not None else f"call {event.call}, which nobody committed,"
        may = "it may have landed or land yet"
    match event.outcome:
        case ReplyOutcome.DONE:
            return Told(f"{what} done", "done")
        case ReplyOutcome.REFUSED if event.retry:
            return Told(f"{what} did nothing, and may be tried again{detail}", "unreachable")
        case ReplyOutcome.REFUSED:
            return Told(f"{what} refused{detail}", "refused")
        case ReplyOutcome.UNKNOWN:
            return Told(f"{what}: {event.detail or 'no reply'}: {may}", "unknown")


def _find(known: Known, event: events.ObjectsSeen) -> Told:
    new = [seen for seen in event.sightings if seen.object not in known.last]
    told = _found(known, new) + [_again(known, seen, event) for seen in event.sightings if seen not in new]
    if event.missing:
        names = listed(known.name(ref) for ref in event.missing)
        told.append(Told(f"{names} not shown, which is no end", "missing"))
    if not told:
        return Told("looked again: nothing else is there", "looked")
    alarm = next((code for _, code in told if code == "unauthorized-run"), told[0].code)
    return Told("; ".join(sentence for sentence, _ in told), alarm)


def _again(known: Known, seen: Sighting, event: events.ObjectsSeen) -> Told:
    """One look at an object that was seen before; an older look than the newest says so."""
    if not known.older(seen, event.as_of):
        return _sighting(known, seen)
    return Told(f"an older look, of {event.as_of:%H:%M:%S}: {_sighting(known, seen).sentence}", "older-look")


def _found(known: Known, new: list[Sighting]) -> list[Told]:
    """New objects that wait, in one sentence; those that run or have ended, one each."""
    waiting = [seen for seen in new if seen.phase in (Phase.GATED, Phase.QUEUED, Phase.UNCLEAR)]
    phases = {seen.phase for seen in waiting}
    told = []
    for phase in [p for p in Phase if p in phases]:
        of = [f"{known.name(s.object)} ({_maker(known, s)})" for s in waiting if s.phase is phase]
        every = {1: "", 2: "both "}.get(len(of), "all ")
        told.append(Told(f"found {listed(of)}, {every}{phase.value}", "found"))
    for seen in [s for s in new if s not in waiting]:
        what, code = _sighting(known, seen)
        told.append(Told(f"found {what} ({_maker(known, seen)})", code))
    return told


def _maker(known: Known, seen: Sighting) -> str:
    maker = known.maker(seen.object, seen.tag)
    return f"{maker[0]}/{maker[1]}" if maker else "foreign"


def _sighting(known: Known, seen: Sighting) -> Told:
    name = known.name(seen.object)
    maker = known.maker(seen.object, seen.tag)
    execution = f"{maker[0]}.{seen.run}" if maker else f"run {seen.run}"
    on = f" on {node_list(seen.nodes)}" if seen.nodes else ""
    match seen.phase:
        case Phase.RUNNING if maker is not None and (seen.object, seen.run) not in known.opened:
            return Told(f"{name} running {execution}{on} without a committed open", "unauthorized-run")
        case Phase.RUNNING:
            epoch = f", epoch {epoch_of(maker[0], seen.run)}" if maker else ""
            return Told(f"{name} running {execution}{epoch}{',' if epoch and on else ''}{on}", "running")
        case Phase.ENDING:
            return Told(f"{name} is ending {execution}{on}", "ending")
        case Phase.ENDED:
            ran = (seen.object, seen.run) in known.ran or bool(seen.nodes)
            kind = seen.cause.kind.value if seen.cause is not None else "ended"
            why = f" by {_cause(seen.cause)}" if seen.cause is not None and ran else ""
            return Told(f"{name} ended{why}" if ran else f"{name} ended; it never ran", kind)
        case Phase.GATED | Phase.QUEUED | Phase.UNCLEAR:
            held = f", held ({seen.hold.value})" if seen.hold.value != "none" else ""
            return Told(f"{name} is {seen.phase.value}, {execution}{held}", seen.phase.value)


def _cessation(known: Known, event: Decision | events.Evidence, envelope: Envelope) -> Told:
    if not isinstance(event, events.CessationSeen):
        return Told(type(event).__name__, "")
    execution = known.execution(event.object, event.run)
    nodes = node_list(node.node for node in event.nodes)
    if event.basis is CessationBasis.OPERATOR:
        who = event.attested_by or envelope.on_behalf_of or envelope.actor
        by = f" by {who}" if who else ""
        state = next((node.state for node in event.nodes if node.state), "off")
        what = f"{nodes} attested {state}{by}" if nodes else f"attested{by}"
        return Told(f"{what}: {execution} is taken as dead{' on ' + nodes if nodes else ''}", "attested")
    if event.answer is CessationAnswer.CEASED:
        how = "presumed gone" if event.basis is CessationBasis.PRESUMED else "gone"
        return Told(f"processes of {execution} are {how}", f"cessation-{event.basis.value}")
    open_nodes = [n for n in event.nodes if n.may_run] or list(event.nodes)
    because = ", ".join(f"{n.node} {n.state}".strip() for n in open_nodes)
    return Told(f"{execution} not proven dead{': ' + because if because else ''}", "cessation-denied")
