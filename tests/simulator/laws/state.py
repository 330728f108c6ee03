"""L11: no state outside the history: what a supervisor holds is what one that starts with nothing would read."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from dispatch.supervisor import Pass
from projections.record import Record
from tests.simulator.laws.law import Law

if TYPE_CHECKING:
    from tests.simulator.watch import Watch

REMEMBERED = 4


class NoStateOutsideTheHistory(Law):
    number = "L11"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._checked: deque[Record] = deque(maxlen=REMEMBERED)

    def passed(self, ended: Pass) -> None:
        """A record that grew pass by pass, over lost replies and conflicts, is the fold of the whole history."""
        record, told = ended.record, self.watch.record
        if record.revision != told.revision or any(record is known for known in self._checked):
            return
        self._checked.append(record)
        if record != told:
            names = [name for name in record.__struct_fields__ if getattr(record, name) != getattr(told, name)]
            self.broken(f"what is held at r{record.revision} is not what the history tells: {', '.join(names)}")
