"""What goes wrong with the store, and what others write into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams import codec
from streams.messages.events import Envelope
from tests.simulator.ledger import JOB

if TYPE_CHECKING:
    from tests.simulator.world import World


class StoreFaults:
    """A restore, an outage, messages of a later release, rubbish, and the noise of other jobs.

    `with_more` holds the revisions of messages that say more than this release knows, in a field that it does not.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.with_more: set[int] = set()

    def fault(self) -> str:
        """One of them, if this run has it."""
        world, draws, levels = self.world, self.world.draws, self.world.swarm.levels
        if draws.chance(levels["restore"]) and world.ledger.entries:
            world.faults["restore"] += 1
            keep = draws.below(len(world.ledger.entries) + 1)
            world.ledger.restore(keep)
            world.watch.restored()
            return f"the store is restored with the first {keep} events"
        if world.store_is_down or draws.chance(levels["store-unreachable"]):
            world.faults["store-unreachable"] += not world.store_is_down
            world.store_is_down = not world.store_is_down
            return f"the store answers: {not world.store_is_down}"
        if draws.chance(levels["unknown-event"] * 2) and world.ledger.entries:
            return self._later_release()
        if draws.chance(levels["quarantine"] * 2) and world.ledger.entries:
            world.faults["quarantine"] += 1
            self._put(b'{"v":1,"id":"not an id","event":{"type":"JobCancelled"}}')
            return "bytes without a valid envelope are stored"
        if draws.chance(levels["repeated-event"] * 4) and world.ledger.entries:
            return self._again()
        if draws.chance(levels["brake"] * 2):
            world.faults["brake"] += 1
            draws.pick(world.processes).notice_a_burst()
            return "a dozen other jobs end at once"
        world.ledger.noise(1 + draws.below(3))
        return ""

    def _again(self) -> str:
        """An event is stored a second time, as by a mirror that was promoted: under its id it is the same one."""
        again = self.world.draws.pick(self.world.ledger.entries).content
        if not isinstance(again, Envelope):
            return ""
        self.world.faults["repeated-event"] += 1
        self._put(codec.encode_event(again))
        return f"the store holds {type(again.event).__name__} a second time"

    def _later_release(self) -> str:
        """A writer of a later release: an event type that this one does not know, or a field that it does not."""
        world = self.world
        what = world.draws.below(4)
        last = world.ledger.entries[-1]
        if not isinstance(last.content, Envelope):
            return ""
        base = (
            f'"tenant":"nlp","job":"llama","expected":{last.revision},"at":"2026-01-01T00:00:00Z","by":"replica:later"'
        )
        seen, more = '"type":"ObjectsSeen","as_of":"2025-12-31T00:00:00Z","read_revision":0', '"mood":{"now":"calm"}'
        later = (f"{{{seen},{more}}}", f"{{{seen}}},{more}", '{"type":"JobAdmired","by":"everybody"}')[min(what, 2)]
        world.faults["unknown-event" if what > 1 else "unknown-field"] += 1
        self._put(f'{{"v":1,"id":"{world.new_id()}",{base},"event":{later}}}'.encode(), with_more=what < 2)
        return (
            "a later release writes: a new event" if what > 1 else "a later release writes: a field that is not known"
        )

    def _put(self, data: bytes, *, with_more: bool = False) -> None:
        """Somebody else's bytes are stored; after a restore under a revision that another message had."""
        revision = self.world.ledger.store(JOB, data)
        self.with_more.discard(revision)
        if with_more:
            self.with_more.add(revision)
        self.world.watch.stored(None)
