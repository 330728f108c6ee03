"""What answers for a cluster that no longer exists: a person's word that nothing of it is left."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from adapters.errors import RefusedError
from streams.messages.calls import (
    Call,
    Capabilities,
    Cessation,
    JobName,
    OpenCall,
    StartCall,
    StopCall,
    StopJobCall,
)
from streams.messages.values import CessationAnswer, CessationBasis, Found, ObjectRef


class GoneAdapter:
    """Implements the required port and ProvesCessation.

    Every Find is complete and empty; whatever ran has ceased, and every stop is done, by the word of `attested_by`; every
    other call is refused. `now` must never go back.
    """

    def __init__(self, cluster: str, *, attested_by: str, reason: str, now: Callable[[], datetime]) -> None:
        self.cluster = cluster
        self.attested_by = attested_by
        self.reason = reason
        self._now = now

    async def capabilities(self) -> Capabilities:
        return Capabilities(
            kind="gone", call_bound_s=1.0, holds=False, accounting=False, read_only=True, takes_stops=True
        )

    async def find(self, name: JobName) -> Found:
        return Found(as_of=self._now())

    async def ceased(self, name: JobName, object: ObjectRef, run: int) -> Cessation:
        return Cessation(
            answer=CessationAnswer.CEASED,
            basis=CessationBasis.OPERATOR,
            as_of=self._now(),
            attested_by=self.attested_by,
        )

    async def start(self, call: StartCall) -> ObjectRef:
        raise self._refusal(call)

    async def open(self, call: OpenCall) -> None:
        raise self._refusal(call)

    async def stop(self, call: StopCall) -> None:
        """Done: nothing is left of it."""

    async def stop_job(self, call: StopJobCall) -> None:
        """Done: nothing is left of it."""

    def _refusal(self, call: Call) -> RefusedError:
        return RefusedError(f"cluster {self.cluster} is gone, says {self.attested_by} ({self.reason}): {call.name.job}")
