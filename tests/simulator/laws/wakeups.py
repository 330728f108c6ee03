"""L13: a wake-up is never evidence: repeated, it decides nothing that was not decided without it.

That wake-ups are lost is every run's: nothing in the world is woken by one. Passes begin at random, then by time alone.
"""

from __future__ import annotations

from datetime import timedelta

from dispatch.supervisor import Pass, Result
from streams.messages.events import Decision, Envelope
from tests.simulator.laws.law import Law

# As long as the repeated passes take, and a little more: what falls due in it is no repetition's doing.
MARGIN = timedelta(seconds=1)


class WakeUpsDecideNothing(Law):
    number = "L13"

    def repeated(self, rested: Pass, before: int) -> None:
        """Everybody was woken again right after a pass that found nothing to do; entries from `before` on are new."""
        if rested.result is not Result.QUIET or (
            rested.due_at is not None and rested.due_at <= self.world.now + MARGIN
        ):
            return
        for entry in self.world.ledger.entries[before:]:
            if isinstance(entry.content, Envelope) and isinstance(entry.content.event, Decision):
                what = type(entry.content.event).__name__
                self.broken(f"{what} at r{entry.revision}, by a pass right after one that found nothing to do")
