"""What each request does to the host. The deadline is checked right before a call acts (L10).

Requests come one at a time, so no call is half-way when a Find reads its `as_of`.
"""

from __future__ import annotations

import msgspec

from adapters.errors import DeadlinePassedError, OutcomeUnknownError, PodsRemainError, RefusedError, UnreachableError
from adapters.local import output
from adapters.local.host import UNREADABLE, LocalHost, next_run
from adapters.local.objects import LocalObject, ObjectRecord, object_id
from adapters.local.plan import check_fits
from adapters.local.runs import Stage
from adapters.wire import (
    CapabilitiesQuery,
    CapabilitiesReply,
    CeasedQuery,
    CessationReply,
    Done,
    FindQuery,
    FoundReply,
    InspectionReply,
    InspectQuery,
    OutputQuery,
    OutputReply,
    Query,
    Reply,
    Request,
    is_call,
    is_query,
)
from streams.messages.calls import (
    Call,
    Capabilities,
    Cessation,
    HoldCall,
    Inspection,
    JobName,
    OpenCall,
    ReleaseCall,
    RequeueCall,
    StartCall,
    StopCall,
    StopJobCall,
)
from streams.messages.values import CessationAnswer, CessationBasis, Found, NodeState, ObjectRef, Phase

CAPABILITIES = Capabilities(
    kind="local",
    call_bound_s=5.0,
    start_deadline_s=10.0,  # a call takes milliseconds here: a supervisor that died with one is not waited for long
    call_deadline_s=10.0,
    find_every_s=0.5,
    first_run=0,
    gate_is_hold=False,
    holds=True,
    requeue_of=(Phase.RUNNING, Phase.ENDED),
    fenced_calls=True,
    cessation=True,
    watch=True,
    logs=True,
    inspect=True,
    limit_min_s=1,
    warning_min_s=1,
)


def answer(host: LocalHost, request: Request) -> Reply:
    """Do what is asked, or say why not. Raises AdapterError."""
    if is_call(request):
        return _call(host, request)
    assert is_query(request), "a request is a call or a query"
    try:
        return _query(host, request)
    except UNREADABLE as error:
        raise UnreachableError(f"the directory cannot be read: {type(error).__name__}") from error


def _call(host: LocalHost, call: Call) -> Reply:
    try:
        host.floors.note(call.name, call.pair)
        if not isinstance(call, StartCall):
            host.sightings(call.name)  # the objects as they stand now, not as they were last seen
    except UNREADABLE as error:
        raise UnreachableError(f"the directory cannot be used: {type(error).__name__}; nothing was done") from error
    late = (host.clock.now() - call.deadline_at).total_seconds()
    if late > 0:
        raise DeadlinePassedError(f"{late:.1f} s past its deadline")
    try:
        return _act(host, call)
    except UNREADABLE as error:
        raise OutcomeUnknownError(f"the directory failed half-way: {type(error).__name__}") from error


def _act(host: LocalHost, call: Call) -> Reply:
    match call:
        case StartCall():
            return Done(object=_start(host, call))
        case OpenCall():
            _open(host, _the(host, call.name, call.object), call.run)
        case StopCall():
            one = host.store.get(call.name, call.object)
            if one is not None:
                _stop(host, one)
        case StopJobCall():
            for one in host.store.of(call.name):
                if one.ref(host.settings.cluster) not in call.spare:
                    _stop(host, one)
        case HoldCall():
            _set_hold(host, _the(host, call.name, call.object), held=True)
        case ReleaseCall():
            _set_hold(host, _the(host, call.name, call.object), held=False)
        case RequeueCall():
            _requeue(host, _the(host, call.name, call.object), call.run)
    return Done()


def _the(host: LocalHost, name: JobName, ref: ObjectRef) -> LocalObject:
    """The object, which was not stopped. Raises RefusedError."""
    one = host.store.get(name, ref)
    if one is None:
        raise RefusedError(f"there is no object {ref.id} of this creation here")
    if one.state.stopped:
        raise RefusedError(f"object {ref.id} was stopped for good")
    return one


def _start(host: LocalHost, call: StartCall) -> ObjectRef:
    check_fits(call.spec, host.site, slots=host.settings.slots)
    record = ObjectRecord(
        id=object_id(call.tag), name=call.name, tag=call.tag, spec=call.spec, made_at=host.clock.now()
    )
    made = host.store.make(record)
    if made.record.tag != call.tag:
        raise RefusedError(f"object {record.id} bears another tag")
    host.changes.note(call.name)
    return made.ref(host.settings.cluster)


def _open(host: LocalHost, one: LocalObject, run: int) -> None:
    state = one.state
    if state.requeue and run == state.run + 1:
        raise PodsRemainError(f"run {state.run} is still ending: {_alive(host, one, state.run)}")
    if run != state.run:
        raise RefusedError(f"run {run} cannot begin: the object is at run {state.run}")
    opened = state if state.opened_at is not None else msgspec.structs.replace(state, opened_at=host.clock.now())
    host.change(one, opened)


def _stop(host: LocalHost, one: LocalObject) -> None:
    state = msgspec.structs.replace(one.state, stopped=True)
    if not state.begun and state.end is None:
        host.end_unbegun(one, state)
        return
    host.change(one, state)
    if one.live:
        host.look(one)


def _set_hold(host: LocalHost, one: LocalObject, *, held: bool) -> None:
    host.change(one, msgspec.structs.replace(one.state, held=held))


def _requeue(host: LocalHost, one: LocalObject, run: int) -> None:
    state = one.state
    if state.run == run + 1 and state.opened_at is None:
        host.change(one, state)  # it is back at its gate already
        return
    if run != state.run:
        raise RefusedError(f"run {run} cannot be requeued: the object is at run {state.run}")
    if not state.begun:
        raise RefusedError(f"run {run} has not begun, so there is nothing to requeue")
    if state.end is not None:
        host.change(one, next_run(state))
        return
    host.change(one, msgspec.structs.replace(state, requeue=True))
    host.look(one)


def _query(host: LocalHost, query: Query) -> Reply:
    match query:
        case CapabilitiesQuery():
            return CapabilitiesReply(capabilities=CAPABILITIES)
        case FindQuery():
            return FoundReply(found=_find(host, query.name))
        case CeasedQuery():
            return CessationReply(cessation=_ceased(host, query))
        case InspectQuery():
            return InspectionReply(inspection=_inspect(host, query))
        case OutputQuery():
            one = host.store.get(query.name, query.object)
            if one is None:
                raise RefusedError(f"there is no object {query.object.id} of this creation here")
            return OutputReply(output=output.read(one.record, query, host.site))


def _find(host: LocalHost, name: JobName) -> Found:
    as_of = host.clock.now()
    seen = host.sightings(name)
    return Found(
        as_of=as_of,
        floor=host.floors.newest(name),
        sightings=tuple(sighting for sighting, _ in seen),
        detail=tuple((sighting.object, why) for sighting, why in seen if why),
    )


def _ceased(host: LocalHost, query: CeasedQuery) -> Cessation:
    """A run that never began has no process; one that began has ceased once its end is on disk."""
    as_of = host.clock.now()
    one = host.store.get(query.name, query.object)
    if one is None:
        state = NodeState(node=host.site.node, state="knows no such object")
        return Cessation(answer=CessationAnswer.MAY_RUN, basis=CessationBasis.OBSERVED, as_of=as_of, nodes=(state,))
    if one.live:
        host.look(one)
    began = query.run < one.state.run or (query.run == one.state.run and one.state.begun)
    if not began or host.run_of(one, query.run).ended() is not None:
        state = NodeState(node=host.site.node, state="gone")
        return Cessation(answer=CessationAnswer.CEASED, basis=CessationBasis.OBSERVED, as_of=as_of, nodes=(state,))
    state = NodeState(node=host.site.node, state="alive", may_run=(_alive(host, one, query.run),))
    return Cessation(answer=CessationAnswer.MAY_RUN, basis=CessationBasis.OBSERVED, as_of=as_of, nodes=(state,))


def _alive(host: LocalHost, one: LocalObject, run: int) -> str:
    """What is known to live of a run, by pid and program name."""
    lives = host.run_of(one, run)
    if lives.stage() is Stage.BEGINNING:
        return "its runner is starting"
    return ", ".join(str(process) for process in lives.remains()) or "its runner"


def _inspect(host: LocalHost, query: InspectQuery) -> Inspection:
    one = host.store.get(query.name, query.object)
    if one is None:
        raise RefusedError(f"there is no object {query.object.id} of this creation here")
    why, position = host.why(one)
    return Inspection(pending_reason=why, position=position)
