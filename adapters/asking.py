"""An adapter that hands every call on as one message and reads one reply: to a daemon, or over the bus."""

from __future__ import annotations

import abc
from typing import TypeVar

from adapters import sizes, wire
from adapters.errors import AdapterError, OutcomeUnknownError, SilentError, UnreachableError, questioned
from streams.messages.calls import (
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

R = TypeVar("R", bound=wire.ReplyBase)


class AskingAdapter(abc.ABC):
    """Implements the required port, Holds, Requeues, ProvesCessation, Inspects and ReadsOutput.

    A reply of another kind than the one asked for, or above the bounds of `adapters.sizes`, counts as no clear answer.
    `direct`: no agent is between.
    """

    direct = False

    @abc.abstractmethod
    async def ask(self, request: wire.Request) -> wire.Reply:
        """Send one request; its reply.

        Raises UnreachableError when nothing was done, OutcomeUnknownError when a call may have been, or may still be.
        """

    async def capabilities(self) -> Capabilities:
        return (await self._expect(wire.CapabilitiesQuery(), wire.CapabilitiesReply)).capabilities

    async def find(self, name: JobName) -> Found:
        return sizes.bounded_find((await self._expect(wire.FindQuery(name=name), wire.FoundReply)).found)

    async def start(self, call: StartCall) -> ObjectRef:
        made = (await self._expect(call, wire.Done)).object
        if made is None:
            raise OutcomeUnknownError("the reply to a Start named no object")
        return sizes.bounded_object(made)

    async def open(self, call: OpenCall) -> None:
        await self._expect(call, wire.Done)

    async def stop(self, call: StopCall) -> None:
        await self._expect(call, wire.Done)

    async def stop_job(self, call: StopJobCall) -> None:
        await self._expect(call, wire.Done)

    async def hold(self, call: HoldCall) -> None:
        await self._expect(call, wire.Done)

    async def release(self, call: ReleaseCall) -> None:
        await self._expect(call, wire.Done)

    async def requeue(self, call: RequeueCall) -> None:
        await self._expect(call, wire.Done)

    async def ceased(self, name: JobName, object: ObjectRef, run: int) -> Cessation:
        query = wire.CeasedQuery(name=name, object=object, run=run)
        return sizes.bounded_word((await self._expect(query, wire.CessationReply)).cessation)

    async def inspect(self, name: JobName, object: ObjectRef) -> Inspection:
        return (await self._expect(wire.InspectQuery(name=name, object=object), wire.InspectionReply)).inspection

    async def read_output(self, name: JobName, object: ObjectRef, run: int, rank: int, *, offset: int = 0) -> Output:
        query = wire.OutputQuery(name=name, object=object, run=run, rank=rank, offset=offset)
        return (await self._expect(query, wire.OutputReply)).output

    async def _expect(self, request: wire.Request, kind: type[R]) -> R:
        if not wire.is_query(request):
            return await self._reply_of(request, kind)
        with questioned(refusable=isinstance(request, wire.REFUSABLE)):
            return await self._reply_of(request, kind)

    async def _reply_of(self, request: wire.Request, kind: type[R]) -> R:
        reply = await self.ask(request)
        if isinstance(reply, kind):
            return reply
        if isinstance(reply, wire.Failed):
            raise wire.error_of(reply)
        raise not_clear(request, "the reply was of another kind than the one asked for")


def no_answer(request: wire.Request, why: str) -> AdapterError:
    """The error of a request that was sent and not answered in time: unknown, or for a query nothing done."""
    return SilentError(why) if wire.is_query(request) else OutcomeUnknownError(why)


def not_clear(request: wire.Request, why: str) -> AdapterError:
    """The error of a request whose answer says nothing: unknown, or for a query nothing done."""
    return UnreachableError(why) if wire.is_query(request) else OutcomeUnknownError(why)
