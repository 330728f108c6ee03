"""L3: nothing is forgotten: settled only when every object and every process is accounted for."""

from __future__ import annotations

from streams.messages.events import Entry, Envelope, JobSettled
from tests.simulator.laws.law import Law


class NothingIsForgotten(Law):
    number = "L3"
    _since: int | None = None

    def after(self, entry: Entry) -> None:
        content = entry.content
        if not isinstance(content, Envelope) or not isinstance(content.event, JobSettled) or self._since is not None:
            return
        if content.event.as_of is None:
            # Cancelled before any submit: no cluster is known, so none was asked (DESIGN 6, Cancel).
            if self.watch.chronicle.attempts:
                self.broken("settled without a Find, although something was started")
            return
        self._since = self.watch.found_at(content.event.as_of)
        for flight in self.world.calls_on_their_way():
            call = flight.request.call
            if call is not None and flight.request.verb not in ("stop", "stop-job"):
                self.broken(f"settled, and {flight.request.verb} #{call.call} can still land")

    def restored(self) -> None:
        self._since = None

    def look(self) -> None:
        if self._since is None:
            return
        for job in self.watch.alive(self._since):
            self.broken(f"settled, and {job.ref.id} is {job.phase.value}")
        for execution in self.watch.living():
            self.broken(f"settled, and {execution.object.id} run {execution.run} is alive on {list(execution.alive)}")
