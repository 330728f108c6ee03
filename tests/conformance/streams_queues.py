"""What the queues and buckets of every bus keep: the other half of `streams_suite`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from streams import codec, subjects
from streams.errors import CodecError, ConflictError
from streams.messages.events import Envelope
from streams.messages.reasons import Reason
from streams.messages.receipts import Answer, Progress
from streams.ports import Delivery, WakeDelivery
from tests.conformance.streams_world import (
    LAYOUT,
    BusWorld,
    a_cancel,
    a_receipt,
    an_event,
    command_subject,
    shard_of,
    until,
)


async def next_command(world: BusWorld, job: str = "llama") -> Delivery:
    bus = await world.connect()
    found = await until(lambda: bus.commands.receive(shard_of(job), rank=0), lambda taken: taken is not None)
    assert found is not None
    return found


async def next_wake(world: BusWorld, job: str = "llama") -> WakeDelivery:
    bus = await world.connect()
    found = await until(lambda: bus.wakeups.receive(shard_of(job), rank=0), lambda taken: taken is not None)
    assert found is not None
    return found


class QueueSuite:
    async def test_a_command_arrives_with_its_subject_its_bytes_and_its_sequence(self, world: BusWorld) -> None:
        bus = await world.connect()
        sequence = await bus.commands.publish(a_cancel("c-1"), actor="ana")
        delivery = await next_command(world)
        assert (delivery.subject, delivery.sequence) == ("dispatch.command.nlp.ana.cancel.llama", sequence)
        assert codec.decode_command(delivery.subject, delivery.data) == a_cancel("c-1")
        await delivery.ack()
        assert await bus.commands.waiting() == 0

    async def test_commands_of_a_job_arrive_in_the_order_they_were_published(self, world: BusWorld) -> None:
        bus = await world.connect()
        for number in range(5):
            await bus.commands.publish(a_cancel(f"c-{number}"), actor="ana" if number % 2 else "bo")
        names = []
        for _ in range(5):
            delivery = await next_command(world)
            names.append(codec.decode_command(delivery.subject, delivery.data).command)
            await delivery.ack()
        assert names == ["c-0", "c-1", "c-2", "c-3", "c-4"]

    async def test_a_second_command_waits_until_the_first_is_acknowledged(self, world: BusWorld) -> None:
        bus = await world.connect()
        await bus.commands.publish(a_cancel("c-1"), actor="ana")
        await bus.commands.publish(a_cancel("c-2"), actor="ana")
        first = await next_command(world)
        assert await (await world.connect()).commands.receive(shard_of("llama"), rank=0) is None
        await first.ack()
        assert (await next_command(world)).data == codec.encode_command(a_cancel("c-2"))

    async def test_a_command_that_is_not_acknowledged_comes_back(self, world: BusWorld) -> None:
        bus = await world.connect()
        await bus.commands.publish(a_cancel("c-1"), actor="ana")
        first = await next_command(world)
        again = await next_command(world)
        assert (again.subject, again.data, again.sequence) == (first.subject, first.data, first.sequence)
        assert await bus.commands.waiting() == 1

    async def test_a_command_in_progress_does_not_come_back(self, world: BusWorld) -> None:
        bus = await world.connect()
        await bus.commands.publish(a_cancel("c-1"), actor="ana")
        delivery = await next_command(world)
        other = await world.connect()
        for _ in range(round(2 * LAYOUT.lease_s / 0.5)):
            await delivery.in_progress()
            assert await other.commands.receive(shard_of("llama"), rank=0) is None
        await delivery.ack()
        assert await bus.commands.waiting() == 0

    async def test_bytes_that_are_no_command_are_delivered_for_a_receipt(self, world: BusWorld) -> None:
        await world.put_command_bytes(command_subject(a_cancel("c-1")), b"not json")
        delivery = await next_command(world)
        with pytest.raises(CodecError):
            codec.decode_command(delivery.subject, delivery.data)
        await delivery.ack()

    async def test_the_lowest_rank_that_waits_is_served_first(self, world: BusWorld) -> None:
        bus, low, high = await world.connect(), await world.connect(), await world.connect()
        shard = shard_of("llama")
        served: list[str] = []

        async def pull(name: str, rank: int) -> None:
            one = low if name == "low" else high
            while not served:
                delivery = await one.wakeups.receive(shard, rank=rank)
                if delivery is not None:
                    served.append(name)
                    await delivery.ack()

        async with asyncio.TaskGroup() as pulls:
            pulls.create_task(pull("high", 7))
            pulls.create_task(pull("low", 1))
            await asyncio.sleep(0.1)  # waits: both pulls must reach the bus before the wake-up
            await bus.wakeups.wake("nlp", "llama")
        assert served == ["low"]

    async def test_wake_ups_of_one_job_are_one(self, world: BusWorld) -> None:
        bus = await world.connect()
        for _ in range(3):
            await bus.wakeups.wake("nlp", "llama")
        wake = await next_wake(world)
        assert (wake.tenant, wake.job) == ("nlp", "llama")
        await wake.ack()
        assert await bus.wakeups.receive(shard_of("llama"), rank=0) is None

    async def test_a_wake_up_that_comes_while_one_is_in_hand_is_not_lost(self, world: BusWorld) -> None:
        bus = await world.connect()
        await bus.wakeups.wake("nlp", "llama")
        first = await next_wake(world)
        await bus.wakeups.wake("nlp", "llama")
        await first.ack()
        second = await next_wake(world)
        assert second.job == "llama"
        await second.ack()

    async def test_wake_ups_of_different_jobs_are_kept_apart(self, world: BusWorld) -> None:
        bus = await world.connect()
        jobs = [f"job-{number}" for number in range(20)]
        for job in jobs:
            await bus.wakeups.wake("nlp", job)
        woken = []
        for job in jobs:
            wake = await next_wake(world, job)
            woken.append(wake.job)
            await wake.ack()
        assert sorted(woken) == sorted(jobs)

    async def test_the_controls_of_a_tenant_are_woken_like_a_job(self, world: BusWorld) -> None:
        bus = await world.connect()
        await bus.wakeups.wake("nlp", subjects.CONTROLS)
        assert (await next_wake(world, subjects.CONTROLS)).job == subjects.CONTROLS

    async def test_a_timer_wakes_its_job_and_not_before_its_time(self, world: BusWorld) -> None:
        bus = await world.connect()
        due_at = datetime.now(UTC) + timedelta(seconds=0.7)
        await bus.wakeups.wake_at("nlp", "llama", due_at)
        wake = await next_wake(world)
        assert datetime.now(UTC) >= due_at
        assert (wake.tenant, wake.job) == ("nlp", "llama")
        await wake.ack()

    async def test_a_timer_whose_time_has_passed_wakes_at_once(self, world: BusWorld) -> None:
        bus = await world.connect()
        await bus.wakeups.wake_at("nlp", "llama", datetime.now(UTC) - timedelta(hours=1))
        assert (await next_wake(world)).job == "llama"

    async def test_a_later_timer_of_a_job_replaces_the_earlier(self, world: BusWorld) -> None:
        bus = await world.connect()
        await bus.wakeups.wake_at("nlp", "llama", datetime.now(UTC) + timedelta(seconds=0.5))
        due_at = datetime.now(UTC) + timedelta(seconds=1.5)
        await bus.wakeups.wake_at("nlp", "llama", due_at)
        await next_wake(world)
        assert datetime.now(UTC) >= due_at

    async def test_a_name_that_is_no_name_is_refused_before_anything_is_sent(self, world: BusWorld) -> None:
        bus = await world.connect()
        with pytest.raises(ValueError, match="must be 1 to 63"):
            await bus.commands.publish(a_cancel("c-1", job="No Such Name"), actor="ana")
        with pytest.raises(ValueError, match="actor"):
            await bus.commands.publish(a_cancel("c-1"), actor="ana.*")
        assert await bus.commands.waiting() == 0


class BucketSuite:
    async def test_the_last_receipt_of_a_command_is_the_one_that_counts(self, world: BusWorld) -> None:
        bus, reader = await world.connect(), await world.connect()
        assert await reader.buckets.get_receipt("nlp", "c-1") is None
        await bus.buckets.put_receipt(a_receipt("c-1", Progress.COMMITTED))
        await bus.buckets.put_receipt(a_receipt("c-1", Progress.COMPLETE))
        found = await until(lambda: reader.buckets.get_receipt("nlp", "c-1"), lambda receipt: receipt is not None)
        assert found == a_receipt("c-1", Progress.COMPLETE)

    async def test_a_late_writer_neither_lowers_the_progress_of_a_cancel_nor_refuses_what_was_accepted(
        self, world: BusWorld
    ) -> None:
        bus, other = await world.connect(), await world.connect()
        for progress in (Progress.COMMITTED, Progress.COMPLETE):
            await bus.buckets.put_receipt(a_receipt("c-1", progress))
        refused = replace(a_receipt("c-1", Progress.COMMITTED), answer=Answer.REFUSED, progress=None)
        for late in (a_receipt("c-1", Progress.STOPPED), refused):
            await other.buckets.put_receipt(late)
            complete = a_receipt("c-1", Progress.COMPLETE)
            assert await until(lambda: bus.buckets.get_receipt("nlp", "c-1"), lambda r: r is not None) == complete

    async def test_a_command_that_was_refused_and_is_accepted_later_is_told_so(self, world: BusWorld) -> None:
        bus = await world.connect()
        accepted = a_receipt("c-1", Progress.COMMITTED)
        await bus.buckets.put_receipt(replace(accepted, answer=Answer.REFUSED, progress=None))
        await bus.buckets.put_receipt(accepted)
        found = await until(lambda: bus.buckets.get_receipt("nlp", "c-1"), lambda told: told == accepted)
        assert found == accepted

    async def test_of_writers_at_one_time_the_receipt_that_says_most_stays(self, world: BusWorld) -> None:
        buses = [await world.connect() for _ in range(2)]
        told = [a_receipt("c-1", progress) for progress in (*Progress, *reversed(Progress))]
        await asyncio.gather(*(buses[n % 2].buckets.put_receipt(receipt) for n, receipt in enumerate(told)))
        complete = a_receipt("c-1", Progress.COMPLETE)
        assert await until(lambda: buses[0].buckets.get_receipt("nlp", "c-1"), lambda r: r == complete) == complete

    async def test_a_receipt_that_names_a_sequence_is_kept_too(self, world: BusWorld) -> None:
        bus = await world.connect()
        await bus.buckets.put_receipt(a_receipt("seq-17", Progress.COMMITTED))
        assert await bus.buckets.get_receipt("nlp", "seq-17") == a_receipt("seq-17", Progress.COMMITTED)

    async def test_a_status_is_written_only_over_the_revision_that_was_read(self, world: BusWorld) -> None:
        bus, other = await world.connect(), await world.connect()
        first = await bus.buckets.put_status("nlp.llama", b"1", expected=None)
        with pytest.raises(ConflictError):
            await other.buckets.put_status("nlp.llama", b"2", expected=None)
        second = await other.buckets.put_status("nlp.llama", b"2", expected=first)
        with pytest.raises(ConflictError) as refusal:
            await bus.buckets.put_status("nlp.llama", b"3", expected=first)
        assert refusal.value.current == second
        entry = await bus.buckets.get_status("nlp.llama")
        assert entry is not None
        assert (entry.key, entry.revision, entry.data) == ("nlp.llama", second, b"2")
        assert await bus.buckets.get_status("nlp.bert") is None

    async def test_every_status_is_listed_once(self, world: BusWorld) -> None:
        bus = await world.connect()
        for number in range(30):
            await bus.buckets.put_status(f"nlp.job-{number}", b"x", expected=None)
        await bus.buckets.put_status("vision.bert", b"y", expected=None)
        await bus.buckets.put_status("_complete", b"17", expected=None)
        entry = await bus.buckets.get_status("nlp.job-3")
        assert entry is not None
        await bus.buckets.put_status("nlp.job-3", b"z", expected=entry.revision)
        listed = [entry async for entry in bus.buckets.list_status(tenant="nlp")]
        assert sorted(entry.key for entry in listed) == sorted(f"nlp.job-{number}" for number in range(30))
        assert {entry.key: entry.data for entry in listed}["nlp.job-3"] == b"z"
        assert len([entry async for entry in bus.buckets.list_status()]) == 32

    async def test_a_key_that_is_no_key_is_refused(self, world: BusWorld) -> None:
        bus = await world.connect()
        for key in ("nlp.*", ">", "", "nlp..llama", "NLP.x", "a.b c"):
            with pytest.raises(ValueError, match="key"):
                await bus.buckets.put_status(key, b"x", expected=None)

    async def test_a_replica_is_seen_until_it_stops_beating(self, world: BusWorld) -> None:
        bus = await world.connect()
        await bus.buckets.beat("sv-a", b"old", ttl_s=60)
        await bus.buckets.beat("sv-a", b"alive", ttl_s=60)
        await bus.buckets.beat("sv-b", b"dying", ttl_s=1)
        assert await bus.buckets.replicas() == {"sv-a": b"alive", "sv-b": b"dying"}
        left = await until(bus.buckets.replicas, lambda replicas: len(replicas) == 1)
        assert left == {"sv-a": b"alive"}

    async def test_a_replica_that_stops_without_leaving_is_missed_and_one_that_leaves_is_not(
        self, world: BusWorld
    ) -> None:
        bus = await world.connect()
        for name in ("sv-a", "sv-b", "sv-c"):
            await bus.buckets.beat(name, b"first", ttl_s=60)
        await bus.buckets.beat("sv-b", b"dying", ttl_s=1)
        await bus.buckets.leave("sv-c")
        left = await until(bus.buckets.replicas, lambda replicas: len(replicas) == 1)
        assert left == {"sv-a": b"first"}
        assert await bus.buckets.silent_replicas() == {"sv-b": b"dying"}
        await bus.buckets.beat("sv-b", b"back", ttl_s=60)
        assert await bus.buckets.silent_replicas() == {}

    async def test_every_connection_reads_the_same_layout(self, world: BusWorld) -> None:
        one, other = await world.connect(), await world.connect()
        assert (one.shards, one.lease_s, one.generation) == (LAYOUT.shards, LAYOUT.lease_s, 1)
        assert (other.shards, other.lease_s, other.generation) == (LAYOUT.shards, LAYOUT.lease_s, 1)

    async def test_reasons_survive_the_way(self, world: BusWorld) -> None:
        bus = await world.connect()
        await bus.history.append(an_event(1))
        (entry,) = await bus.history.read("nlp", "llama")
        assert isinstance(entry.content, Envelope)
        assert entry.content.reason is Reason.PERSON_RELEASE
