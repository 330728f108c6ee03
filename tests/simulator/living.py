"""Executions whose processes live, since when on each node, and which of them somebody who decides had been told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.simulated.truth import BegunBy, Execution
from streams.messages.values import Disposition, Found
from tests.simulator.chronicle import EVERY_NODE, shows_begun

if TYPE_CHECKING:
    from tests.simulator.watch import Watch

EXCUSED = (Disposition.GONE, Disposition.IGNORE)


class Living:
    """`since` holds, by execution and node, the step at which a process of it began there."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.since: dict[Execution, dict[str, int]] = {}
        self._version = -1

    def note(self) -> None:
        """Bring `since` to the present step."""
        world = self.watch.world
        truth = world.cluster.truth
        if truth.version == self._version:
            return
        self._version = truth.version
        before, self.since = self.since, {}
        for execution in truth.living:
            known = before.get(execution, {})
            self.since[execution] = {node: known.get(node, world.steps) for node in execution.alive}

    def executions(self, told: tuple[Found, int] | None = None) -> list[Execution]:
        """Those that a call of ours began, but for what a person vouched for or disposed of.

        With `told`, a Find and the step at which it landed, also those of a person or the scheduler that had begun by
        then and that this Find shows, or an earlier one that is recorded: nobody can know of others.
        """
        if not self.watch.world.cluster.truth.living:
            return []
        self.note()
        found = []
        for execution in self.since:
            left = self._not_vouched_for(execution)
            if not left or self.watch.chronicle.disposed.get(execution.object) in EXCUSED:
                continue
            if execution.lift.by is BegunBy.CALL or (told is not None and self._told_of(execution, min(left), *told)):
                found.append(execution)
        return found

    def vouched_for(self, execution: Execution) -> bool:
        """Whether somebody's word covers each of its processes."""
        self.note()
        return not self._not_vouched_for(execution)

    def _not_vouched_for(self, execution: Execution) -> list[int]:
        """When each process began that no word covers: none of its node, or of all, was given after that."""
        attested = self.watch.chronicle.attested
        of = (execution.object, execution.run)
        of_all = attested.get((*of, EVERY_NODE), -1)
        return [s for node, s in self.since[execution].items() if s >= max(attested.get((*of, node), -1), of_all)]

    def _told_of(self, execution: Execution, began: int, found: Found, found_at: int) -> bool:
        of = (execution.object, execution.run)
        if began <= found_at and any((s.object, s.run) == of and shows_begun(s) for s in found.sightings):
            return True
        recorded = self.watch.chronicle.begun.get(of)
        return recorded is not None and began <= self.watch.find_steps.get(recorded, -1)
