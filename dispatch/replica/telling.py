"""What people are told after a pass: the job's status, and how far a cancel got. Never read for a decision."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import structlog

from dispatch.act import Hands
from dispatch.replica.commands import progress_of
from dispatch.supervisor import Pass
from projections.controls import Controls
from projections.record import Record
from streams.errors import StreamError
from streams.messages.events import Entry
from streams.messages.receipts import Answer, Progress, Receipt
from streams.ports import Buckets

TOLD_MAX = 20_000

log = structlog.get_logger("dispatch.telling")


class Teller:
    """Writes projections to the buckets; remembers what it wrote last so as not to write it again."""

    def __init__(self, buckets: Buckets, hands: Hands, live: Callable[[], tuple[str, ...]]) -> None:
        self._buckets = buckets
        self._hands = hands
        self._live = live
        self._told: OrderedDict[tuple[str, str], Progress] = OrderedDict()

    async def tell(self, done: Pass, controls: Controls) -> None:
        """The receipts and the status that a pass leaves; a bus that does not answer is told again next time."""
        try:
            await self.receipts(done.record)
        except StreamError as error:
            log.warning("status not written", job=done.record.job, why=str(error))

    async def receipts(self, record: Record) -> None:
        """The receipt of the record's cancel, each time it got further; before the job is settled."""
        cancel, progress = record.cancel, progress_of(record)
        if cancel is None or cancel.command is None or progress is None:
            return
        key = (record.tenant, cancel.command)
        if self._told.get(key) is progress:
            return
        receipt = Receipt(
            command=cancel.command,
            tenant=record.tenant,
            job=record.job,
            verb="cancel",
            answer=Answer.ACCEPTED,
            revision=cancel.revision,
            number=cancel.number,
            progress=progress,
            at=self._hands.clock(),
            by=self._hands.by,
        )
        await self._buckets.put_receipt(receipt)
        self._told[key] = progress
        while len(self._told) > TOLD_MAX:
            self._told.popitem(last=False)

    def seen(self, entry: Entry) -> None:
        """An entry of any job, as the follower meets it."""
