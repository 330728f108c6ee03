"""The adapter of a cluster that is reached over the bus, through the agent next to its scheduler.

What an error says: the agent's own answer keeps its class. No agent listening, or not connected: nothing was sent,
so SilentError. Sent and not answered in time: OutcomeUnknownError for a call, SilentError for a query. An answer that
cannot be read: OutcomeUnknownError for a call, UnreachableError for a query.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import nats.errors
from nats.aio.client import Client

from adapters import wire
from adapters.asking import AskingAdapter, no_answer, not_clear
from adapters.errors import RefusedError, SilentError
from streams import subjects
from streams.messages.calls import Call, Capabilities

READ_WITHIN_S, CALL_WITHIN_S, ANSWER_GRACE_S = 15.0, 90.0, 5.0
NOT_SENT = (
    nats.errors.NoRespondersError,
    nats.errors.OutboundBufferLimitError,
    nats.errors.ConnectionClosedError,
    nats.errors.ConnectionDrainingError,
)


class RemoteAdapter(AskingAdapter):
    """Implements the required port, Holds, Requeues, ProvesCessation, Inspects and ReadsOutput.

    Not Watches: the agent turns what it sees into wake-ups by itself. Capabilities say what the cluster can do of it.
    """

    def __init__(
        self,
        client: Client,
        cluster: str,
        *,
        read_within_s: float = READ_WITHIN_S,
        call_within_s: float = CALL_WITHIN_S,
    ) -> None:
        self.cluster = subjects.check_token(cluster, "cluster")
        self._client = client
        self._read_within_s = read_within_s
        self._call_within_s = call_within_s

    async def capabilities(self) -> Capabilities:
        """The agent's, but for `watch`: nobody needs to watch a cluster whose agent wakes its jobs."""
        return msgspec.structs.replace(await super().capabilities(), watch=False)

    async def ask(self, request: wire.Request) -> wire.Reply:
        """By request and reply on the subject of the request's own verb."""
        subject = subjects.agent(self.cluster, wire.verb_of(request))
        try:
            message = await self._client.request(subject, wire.encode(request), timeout=self._within_s(request))
        except NOT_SENT as error:
            raise SilentError(f"no agent of {self.cluster} can be reached: {type(error).__name__}") from error
        except nats.errors.MaxPayloadError as error:
            raise RefusedError("the call is larger than the bus allows") from error
        except (nats.errors.Error, OSError, TimeoutError) as error:
            raise no_answer(request, f"the agent of {self.cluster} gave no answer in time") from error
        try:
            return wire.decode_reply(message.data)
        except msgspec.DecodeError as error:
            raise not_clear(request, f"the agent's reply cannot be read: {error}") from error

    def _within_s(self, request: wire.Request) -> float:
        """A call is waited for until it can no longer be answered in time to matter."""
        if wire.is_call(request):
            return min(max(_left_s(request), 0.0) + ANSWER_GRACE_S, self._call_within_s)
        return self._read_within_s


def _left_s(call: Call) -> float:
    return (call.deadline_at - datetime.now(UTC)).total_seconds()
