"""Heartbeats while replicas come and go."""

from __future__ import annotations

from streams.jetstream.buckets import JetStreamBuckets
from streams.jetstream.connect import JetStreamBus
from tests.conformance.streams_world import JetStreamWorld


class WhileRead(JetStreamBuckets):
    """Between the two reads of who is silent, one replica leaves and another comes."""

    async def replicas(self) -> dict[str, bytes]:
        await self.leave("sv-leaves")
        await self.beat("sv-comes", b"first", ttl_s=60)
        return await super().replicas()


async def test_a_replica_that_leaves_or_comes_while_one_looks_is_not_called_dead(world: JetStreamWorld) -> None:
    bus = await world.connect()
    assert isinstance(bus, JetStreamBus)
    buckets = WhileRead(bus.wire, 1)
    await buckets.beat("sv-leaves", b"here", ttl_s=60)
    assert await buckets.silent_replicas() == {}
