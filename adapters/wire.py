"""Requests to an adapter and its replies, as bytes: for a daemon's inbox and for the bus.

A reply carries the class of an error, because the class says whether a retry is safe.
"""

from __future__ import annotations

from typing import TypeGuard

import msgspec

from adapters.errors import (
    AdapterError,
    DeadlinePassedError,
    OutcomeUnknownError,
    PodsRemainError,
    RefusedError,
    SilentError,
    UnreachableError,
)
from adapters.port import Adapter, Holds, Inspects, ProvesCessation, ReadsOutput, Requeues
from adapters.sizes import TEXT_MAX
from streams.messages.calls import (
    Call,
    CallBase,
    Capabilities,
    Cessation,
    HoldCall,
    Inspection,
    JobName,
    OpenCall,
    Output,
    ReleaseCall,
    RequeueCall,
    StartCall,
    StopCall,
    StopJobCall,
)
from streams.messages.values import Found, ObjectRef


class QueryBase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="verb"):
    """A request that changes nothing."""


class CapabilitiesQuery(QueryBase, frozen=True, kw_only=True, tag="capabilities"):
    """What the cluster can do."""


class FindQuery(QueryBase, frozen=True, kw_only=True, tag="find"):
    """Every object of the job."""

    name: JobName


class CeasedQuery(QueryBase, frozen=True, kw_only=True, tag="ceased"):
    """Whether a process of that run may still live."""

    name: JobName
    object: ObjectRef
    run: int


class InspectQuery(QueryBase, frozen=True, kw_only=True, tag="inspect"):
    """Why the object waits."""

    name: JobName
    object: ObjectRef


class OutputQuery(QueryBase, frozen=True, kw_only=True, tag="read-output"):
    """Bytes of one rank's log."""

    name: JobName
    object: ObjectRef
    run: int
    rank: int
    offset: int = 0


Query = CapabilitiesQuery | FindQuery | CeasedQuery | InspectQuery | OutputQuery
Request = Call | Query
REFUSABLE = (InspectQuery, OutputQuery)


class ReplyBase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="reply"):
    """One answer to one request."""


class Done(ReplyBase, frozen=True, kw_only=True, tag="done"):
    """The call was done; `object` is the one that a Start made."""

    object: ObjectRef | None = None


class Failed(ReplyBase, frozen=True, kw_only=True, tag="failed"):
    """`kind` names the class of error, `sentence` is its text.

    `silent`: it is a SilentError, which who does not know that word takes as the UnreachableError that it is.
    """

    kind: str
    sentence: str
    silent: bool = False


class FoundReply(ReplyBase, frozen=True, kw_only=True, tag="found"):
    """The answer to a FindQuery."""

    found: Found


class CapabilitiesReply(ReplyBase, frozen=True, kw_only=True, tag="capabilities"):
    """The answer to a CapabilitiesQuery."""

    capabilities: Capabilities


class CessationReply(ReplyBase, frozen=True, kw_only=True, tag="cessation"):
    """The answer to a CeasedQuery."""

    cessation: Cessation


class InspectionReply(ReplyBase, frozen=True, kw_only=True, tag="inspection"):
    """The answer to an InspectQuery."""

    inspection: Inspection


class OutputReply(ReplyBase, frozen=True, kw_only=True, tag="output"):
    """The answer to an OutputQuery."""

    output: Output


Reply = Done | Failed | FoundReply | CapabilitiesReply | CessationReply | InspectionReply | OutputReply

FAILURES: dict[str, type[AdapterError]] = {
    "refused": RefusedError,
    "late": DeadlinePassedError,
    "unreachable": UnreachableError,
    "pods-remain": PodsRemainError,
    "unknown": OutcomeUnknownError,
}
_KINDS = {AdapterError: "unknown"} | {kind: name for name, kind in FAILURES.items()}

_encoder = msgspec.json.Encoder()
_requests = msgspec.json.Decoder(Request)
_replies = msgspec.json.Decoder(Reply)


def encode(message: Request | Reply) -> bytes:
    return _encoder.encode(message)


def decode_request(data: bytes) -> Request:
    """Raises msgspec.ValidationError or msgspec.DecodeError on bytes that are no request."""
    return _requests.decode(data)


def decode_reply(data: bytes) -> Reply:
    """Raises msgspec.ValidationError or msgspec.DecodeError on bytes that are no reply."""
    return _replies.decode(data)


def is_query(request: Request) -> TypeGuard[Query]:
    """Whether it changes nothing, so that no answer to it means that nothing was done."""
    return isinstance(request, QueryBase)


def is_call(request: Request) -> TypeGuard[Call]:
    """Whether it may change something, and so has a deadline and the pair of its intent."""
    return isinstance(request, CallBase)


def verb_of(request: Request) -> str:
    """What is asked: the last word of the subject it is asked on."""
    return str(request.__struct_config__.tag)


def failed(error: AdapterError) -> Failed:
    """The reply that carries this error's class, or the nearest one above it that is known."""
    kind = next(_KINDS[above] for above in type(error).mro() if above in _KINDS or above is AdapterError)
    return Failed(kind=kind, sentence=str(error), silent=isinstance(error, SilentError))


def error_of(reply: Failed) -> AdapterError:
    """The error that this reply carries, its sentence cut; a kind we do not know is OutcomeUnknownError."""
    sentence = reply.sentence[:TEXT_MAX]
    if reply.silent and reply.kind == "unreachable":
        return SilentError(sentence)
    return FAILURES.get(reply.kind, OutcomeUnknownError)(sentence)


async def serve(adapter: Adapter, request: Request) -> Reply:
    """Make this request of the adapter; its answer as a reply. Raises what the adapter raises."""
    match request:
        case CapabilitiesQuery():
            return CapabilitiesReply(capabilities=await adapter.capabilities())
        case FindQuery():
            return FoundReply(found=await adapter.find(request.name))
        case StartCall():
            return Done(object=await adapter.start(request))
        case OpenCall():
            await adapter.open(request)
        case StopCall():
            await adapter.stop(request)
        case StopJobCall():
            await adapter.stop_job(request)
        case _:
            return await _serve_capability(adapter, request)
    return Done()


Optional = HoldCall | ReleaseCall | RequeueCall | CeasedQuery | InspectQuery | OutputQuery


async def _serve_capability(adapter: Adapter, request: Optional) -> Reply:
    match request:
        case HoldCall() if isinstance(adapter, Holds):
            await adapter.hold(request)
        case ReleaseCall() if isinstance(adapter, Holds):
            await adapter.release(request)
        case RequeueCall() if isinstance(adapter, Requeues):
            await adapter.requeue(request)
        case CeasedQuery() if isinstance(adapter, ProvesCessation):
            cessation = await adapter.ceased(request.name, request.object, request.run)
            return CessationReply(cessation=cessation)
        case InspectQuery() if isinstance(adapter, Inspects):
            return InspectionReply(inspection=await adapter.inspect(request.name, request.object))
        case OutputQuery() if isinstance(adapter, ReadsOutput):
            output = await adapter.read_output(
                request.name, request.object, request.run, request.rank, offset=request.offset
            )
            return OutputReply(output=output)
        case _:
            raise RefusedError("this cluster cannot do that")
    return Done()
