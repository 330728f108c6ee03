"""What people are told after a pass: the job's status, and how far a cancel got. Never read for a decision."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from typing import Any

import structlog
from msgspec.structs import replace

from dispatch.act import Hands
from dispatch.supervisor import Pass, Result
from projections import fleet
from projections.controls import Controls
from projections.fleet import FleetEntry
from projections.receipt import Written, receipts_of
from projections.record import Record
from projections.status import Around
from streams.errors import ConflictError, StreamError
from streams.messages.receipts import Progress
from streams.ports import Buckets

TOLD_MAX = 20_000
TRIES_MAX = 5

log = structlog.get_logger("dispatch.telling")


class Teller:
    """Writes projections to the buckets; remembers what it wrote last so as not to write it again."""

    def __init__(self, buckets: Buckets, hands: Hands, last_good_find: Callable[[str], datetime | None]) -> None:
        self._buckets = buckets
        self._hands = hands
        self._last_good_find = last_good_find
        self._progress: OrderedDict[tuple[str, str], Progress | None] = OrderedDict()
        self._written: OrderedDict[str, tuple[int, FleetEntry]] = OrderedDict()
        self._silent_since: dict[str, datetime] = {}

    async def tell(self, done: Pass, controls: Controls) -> FleetEntry | None:
        """The receipts and the status that a pass leaves; a bus that does not answer is told again next time.

        Returns what is told of the job; None of one that nobody knows.
        """
        entry = None if done.record.empty else fleet.entry_of(done.record, self._around(done, controls))
        try:
            await self.receipts(done.record)
            if entry is not None:
                await self._put(entry, again=done.result is Result.REGRESSED)
        except StreamError as error:
            log.warning("status not written", job=done.record.job, why=str(error))
        return entry

    def forget(self) -> None:
        """Let go what was written: the bucket may have lost it with the history (L14), and is asked again."""
        self._progress.clear()
        self._written.clear()

    async def receipts(self, record: Record) -> None:
        """The receipt of the record's cancel, each time it got further; before the job is settled."""
        for receipt in receipts_of(record, Written(self._hands.clock(), self._hands.by)):
            key = (receipt.tenant, receipt.command)
            if key in self._progress and self._progress[key] is receipt.progress:
                continue
            await self._buckets.put_receipt(receipt)
            self._progress[key] = receipt.progress
            _trim(self._progress)

    def _around(self, done: Pass, controls: Controls) -> Around:
        cluster = done.record.spec.cluster if done.record.spec else ""
        silent = done.result in (Result.UNREACHABLE, Result.NO_ADAPTER)
        if silent:
            self._silent_since.setdefault(cluster, self._hands.clock())
        else:
            self._silent_since.pop(cluster, None)
        return Around(
            now=self._hands.clock(),
            found=done.found,
            capabilities=done.capabilities,
            controls=controls,
            installation=self._hands.installation,
            cluster_read_at=self._last_good_find(cluster),
            unreachable_since=self._silent_since.get(cluster),
            attended=True,
            regressed=done.why if done.result is Result.REGRESSED else "",
        )

    async def _put(self, entry: FleetEntry, *, again: bool) -> None:
        """Write the entry unless the bucket tells of a newer prefix that still stands, or of this one in the same words."""
        held = self._written.get(entry.key)
        if held is not None and _same(held[1], entry):
            return
        revision = held[0] if held is not None else None
        for attempt in range(TRIES_MAX):
            if held is None or attempt:
                known = await self._buckets.get_status(entry.key)
                revision = known.revision if known else None
                told = fleet.decode(known.data) if known else None
                if told is not None and told.revision > entry.revision and not again and await self._stands(told):
                    return
            try:
                written = await self._buckets.put_status(entry.key, fleet.encode(entry), expected=revision)
            except ConflictError:
                continue
            self._written[entry.key] = (written, entry)
            _trim(self._written)
            return

    async def _stands(self, told: FleetEntry) -> bool:
        """Whether the history still has what the bucket tells of: not, if it lost its newest events (L14)."""
        return told.revision <= await self._hands.history.last_revision(told.tenant, told.job)


def _same(told: FleetEntry, entry: FleetEntry) -> bool:
    """Whether nothing would change but the time of the last look."""
    return replace(told, cluster_read_at=entry.cluster_read_at) == entry


def _trim(held: OrderedDict[Any, Any]) -> None:
    """Forget what was written longest ago: it is read from the bucket again when needed."""
    while len(held) > TOLD_MAX:
        held.popitem(last=False)
