"""What every checker of a law is: it is shown what happens and raises `LawBroken`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NoReturn

from dispatch.supervisor import Pass
from streams.messages.events import Entry, Envelope, Event
from tests.simulator.broken import LawBroken
from tests.simulator.flight import CallFlight, Flight

if TYPE_CHECKING:
    from tests.simulator.process import Task
    from tests.simulator.watch import Watch


class Law:
    """`number` is the law's. Each method is one moment at which it can be seen to be broken."""

    number: ClassVar[str] = ""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.world = watch.world

    def broken(self, what: str) -> NoReturn:
        raise LawBroken(self.number, what)

    def before(self, envelope: Envelope, event: Event) -> None:
        """An event has been stored; the chronicle does not hold it yet."""

    def after(self, entry: Entry) -> None:
        """An event has been stored, and the chronicle and the record hold it."""

    def sent(self, flight: CallFlight) -> None:
        """A call leaves its supervisor."""

    def landed(self, flight: CallFlight) -> None:
        """A call has acted on the scheduler, or was refused there."""

    def answered(self, task: Task, flight: Flight) -> None:
        """A supervisor's coroutine is told of its flight's answer or error."""

    def lost(self, task: Task, flight: Flight) -> None:
        """A supervisor's coroutine is told that its flight has no answer."""

    def finished(self, task: Task) -> None:
        """A coroutine has come to its end."""

    def passed(self, ended: Pass) -> None:
        """A pass has come to its result."""

    def repeated(self, rested: Pass, before: int) -> None:
        """Every supervisor was woken again right after `rested`, which had found the history `before` entries long."""

    def restored(self) -> None:
        """The history was replaced by an older copy."""

    def look(self) -> None:
        """The history or the truth changed in this step."""
