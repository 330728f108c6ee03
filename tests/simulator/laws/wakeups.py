"""L13: a wake-up is never evidence: repeated, it decides nothing that was not decided without it.

That wake-ups are lost is every run's: in its busy steps nothing is woken by one. Where all clocks agree, a pass that found
nothing to do says when there may be: until then, and as long as nothing changes, there is nothing for anybody.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from dispatch.supervisor import Pass, Result
from streams.messages.events import Decision, Envelope, Event
from streams.messages.values import Found
from streams.subjects import CONTROLS
from tests.simulator.flight import CallFlight, Flight, ReadFlight
from tests.simulator.laws.law import Law

if TYPE_CHECKING:
    from tests.simulator.process import Task

# As long as the repeated passes take, and a little more: what falls due in it is no repetition's doing.
MARGIN = timedelta(seconds=1)
Versions = tuple[int, tuple[object, ...]]


class WakeUpsDecideNothing(Law):
    number = "L13"
    _due_at: datetime | None = None
    _looked: tuple[Found, Versions] | None = None
    _left: Versions = (0, ())
    _since = 0

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._controls: dict[Task, int] = {}

    def answered(self, task: Task, flight: Flight) -> None:
        """A look, and what was so as it was made; not one that was told late, nor one of which a question was not answered."""
        if isinstance(flight, ReadFlight) and flight.job == CONTROLS:
            known = flight.answer[-1].revision if flight.error is None and flight.answer else flight.after
            self._controls[task] = known
        if not isinstance(flight, CallFlight):
            return
        if flight.request.verb == "find" and flight.error is None:
            whole = flight.landed_at == self.world.steps and self._knows_controls(task)
            self._looked = (flight.answer, self._now()) if whole else None
        elif flight.error is not None:
            self.lost(task, flight)

    def lost(self, task: Task, flight: Flight) -> None:
        """A question about processes that was not answered: its pass goes by what it knew before."""
        if isinstance(flight, CallFlight) and flight.request.verb == "ceased":
            self._looked = None

    def passed(self, ended: Pass) -> None:
        """One that found nothing to do says when the next look is due. Only where every clock, and every read, tells the same."""
        entries = self.world.ledger.entries
        whole = bool(entries) and ended.record.revision == entries[-1].revision
        agree = all(not process.skew and not process.drift for process in self.world.processes)
        agree = agree and not self.world.host_drift
        reads = self.world.calm or not self.world.swarm.levels["read-stale"]
        # That the cluster may be called again, its next look tells.
        may = ended.capabilities is not None and not ended.capabilities.read_only
        rests = ended.result is Result.QUIET and whole and agree and reads and may
        looked = self._looked
        if not rests or looked is None or looked[0] is not ended.found:
            self._due_at = None
            return
        self._due_at, self._left, self._since = ended.due_at, looked[1], self.world.steps

    def before(self, envelope: Envelope, event: Event) -> None:
        """What a pass appends before the next look was due, and nothing has changed, was there to be done before."""
        flight, due_at = self.watch.flight, self._due_at
        if due_at is None or flight is None or flight.task is None or flight.task.what != "pass":
            return
        if flight.task.found_at < self._since or not self._knows_controls(flight.task):
            return  # it goes by a look that is older, or by older orders on retries, which bind no law
        stored, cluster = self._now()
        if (stored - 1, cluster) == self._left and self.world.now + MARGIN < due_at:
            early = (due_at - self.world.now).total_seconds()
            self.broken(f"{type(event).__name__} is appended {early:.0f} s before the next look is due")

    def _knows_controls(self, task: Task) -> bool:
        """Whether the pass has read the newest order on retries; one may come, or be lagged behind, before its look."""
        stored = self.world.ledger.controls
        return self._controls.get(task) == (stored[-1].revision if stored else 0)

    def _now(self) -> Versions:
        """What is stored, and what is true of the cluster: versions that each change raises, what it can do, its clock."""
        world = self.world
        able = tuple(world.cluster.otherwise.items())
        cluster = (world.cluster.truth.version, world.cluster.changes, able, world.host_skew)
        return world.ledger.version, cluster

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
