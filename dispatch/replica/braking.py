"""Pulling the brake: many ends in one instant make retries of that cluster wait (R14)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog

from dispatch.act import Hands, decide
from dispatch.brake import Bursts, brake
from dispatch.replica.commands import read_controls
from projections.evolve import empty, fold
from streams import subjects
from streams.errors import ConflictError, StreamError
from streams.messages.events import Entry
from streams.messages.reasons import Reason

log = structlog.get_logger("dispatch.brake")


class Braking:
    """Watches every entry that the follower meets; `mine` says whether this replica is the one to pull."""

    def __init__(self, hands: Hands, mine: Callable[[str], bool]) -> None:
        self._hands = hands
        self._mine = mine
        self._bursts = Bursts()

    def restore(self, running: Iterable[tuple[str, str, str]]) -> None:
        """Begin from those known to run (tenant, cluster, job): else a few ends would look like many."""
        self._bursts.restore(running)

    def forget(self) -> None:
        """Begin again before the first event, as whoever follows the history does."""
        self._bursts = Bursts()

    async def seen(self, entry: Entry) -> None:
        for tenant, cluster in self._bursts.apply(entry):
            recent = (self._hands.clock() - entry.stored_at).total_seconds() < 60
            if recent and self._mine(cluster):
                await self._pull(tenant, cluster)

    async def _pull(self, tenant: str, cluster: str) -> None:
        place = (tenant, cluster)
        try:
            controls = await read_controls(self._hands, tenant)
            standing = controls.standing(cluster)
            event = brake(self._bursts.ends(place), self._bursts.running(place), standing, self._hands.clock())
            if event is None:
                return
            entries = await self._hands.history.read(tenant, subjects.CONTROLS)
            record = fold(empty(tenant, subjects.CONTROLS), entries)
            if record.revision != controls.revision:
                return
            await decide(self._hands, record, event, Reason.BRAKE_TRIPPED)
            log.warning("brake", tenant=tenant, cluster=cluster, why=event.brake_cause)
        except ConflictError:
            log.debug("the controls changed meanwhile", cluster=cluster)
        except StreamError as error:
            log.warning("brake not pulled", cluster=cluster, why=str(error))
