"""What every bus keeps, in memory or real: a test class takes the suites and gives a `world` fixture.

class TestMemory(HistorySuite, QueueSuite, BucketSuite): ...
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from streams import codec, subjects
from streams.errors import CodecError, ConflictError, RegressionError
from streams.messages.events import Envelope, Quarantined, UnknownEvent
from streams.messages.reasons import Reason
from streams.messages.receipts import Progress
from streams.ports import Caught, Delivery, WakeDelivery
from tests.conformance.streams_world import (
    LAYOUT,
    BusWorld,
    a_cancel,
    a_receipt,
    an_event,
    command_subject,
    numbers,
    shard_of,
    take_until,
    until,
    write,
)


class HistorySuite:
    async def test_what_was_appended_is_read_back_in_order_with_its_revision(self, world: BusWorld) -> None:
        bus = await world.connect()
        revisions = await write(bus, 3)
        entries = await bus.history.read("nlp", "llama")
        assert [entry.revision for entry in entries] == revisions
        assert [entry.content for entry in entries] == [
            an_event(number, expected=expected) for number, expected in zip((1, 2, 3), (0, *revisions), strict=False)
        ]
        assert revisions == sorted(set(revisions))
        assert abs(datetime.now(UTC) - entries[0].stored_at) < timedelta(minutes=5)

    async def test_only_the_tail_above_a_revision_is_read(self, world: BusWorld) -> None:
        bus = await world.connect()
        first, second, third = await write(bus, 3)
        assert [entry.revision for entry in await bus.history.read("nlp", "llama", after=first)] == [second, third]
        assert await bus.history.read("nlp", "llama", after=third) == ()

    async def test_jobs_and_tenants_do_not_meet(self, world: BusWorld) -> None:
        bus = await world.connect()
        await write(bus, 1, job="llama")
        await write(bus, 1, job="bert", first=2)
        await write(bus, 1, job="llama", tenant="vision", first=3)
        assert numbers(list(await bus.history.read("nlp", "llama"))) == ["h-1"]
        assert numbers(list(await bus.history.read("vision", "llama"))) == ["h-3"]
        assert await bus.history.read("nlp", "moe") == ()

    async def test_the_second_of_two_writers_at_one_revision_is_refused(self, world: BusWorld) -> None:
        one, other = await world.connect(), await world.connect()
        (revision,) = await write(one, 1)
        winner = await one.history.append(an_event(2, expected=revision))
        with pytest.raises(ConflictError) as refusal:
            await other.history.append(an_event(3, expected=revision))
        assert (refusal.value.expected, refusal.value.current) == (revision, winner)
        assert numbers(list(await other.history.read("nlp", "llama"))) == ["h-1", "h-2"]

    async def test_of_many_writers_at_one_revision_exactly_one_wins(self, world: BusWorld) -> None:
        buses = [await world.connect() for _ in range(3)]
        attempts = [buses[number % 3].history.append(an_event(number)) for number in range(1, 31)]
        answers = await asyncio.gather(*attempts, return_exceptions=True)
        assert sum(isinstance(answer, int) for answer in answers) == 1
        assert sum(isinstance(answer, ConflictError) for answer in answers) == 29
        assert len(await buses[0].history.read("nlp", "llama")) == 1

    async def test_an_expectation_about_one_job_ignores_the_others(self, world: BusWorld) -> None:
        bus = await world.connect()
        (revision,) = await write(bus, 1, job="llama")
        await write(bus, 5, job="bert", first=2)
        assert await bus.history.append(an_event(9, expected=revision)) == revision + 6

    async def test_ones_own_event_that_is_stored_already_is_recognised_by_its_id(self, world: BusWorld) -> None:
        bus = await world.connect()
        event = an_event(1)
        revision = await bus.history.append(event)
        await write(bus, 2, first=2)
        assert await bus.history.append(event) == revision
        assert len(await bus.history.read("nlp", "llama")) == 3

    async def test_a_history_that_went_backwards_is_told_from_a_conflict(self, world: BusWorld) -> None:
        bus = await world.connect()
        await write(bus, 2)
        await world.remember()
        *_, last = await write(bus, 2, first=3)
        await world.go_back()
        with pytest.raises(RegressionError) as refusal:
            await bus.history.append(an_event(5, expected=last))
        assert (refusal.value.expected, refusal.value.current) == (last, 2)

    async def test_more_entries_than_one_page_are_read_whole(self, world: BusWorld) -> None:
        bus = await world.connect()
        for number in range(2500):
            await world.connect() if number == 0 else None
            await bus.history.append(an_event(number, expected=number))
        entries = await bus.history.read("nlp", "llama")
        assert [entry.revision for entry in entries] == list(range(1, 2501))
        assert len(await bus.history.read("nlp", "llama", after=1)) == 2499

    async def test_bytes_that_are_no_envelope_are_quarantined_in_their_place(self, world: BusWorld) -> None:
        bus = await world.connect()
        await write(bus, 1)
        bad = await world.store_bytes("dispatch.job.nlp.llama", b'{"stream":"X","seq":1}')
        entries = await bus.history.read("nlp", "llama")
        assert [type(entry.content) for entry in entries] == [Envelope, Quarantined]
        assert entries[1].revision == bad

    async def test_the_empty_message_is_quarantined_too(self, world: BusWorld) -> None:
        bus = await world.connect()
        await world.store_bytes("dispatch.job.nlp.llama", b"")
        (entry,) = await bus.history.read("nlp", "llama")
        assert isinstance(entry.content, Quarantined)

    async def test_an_event_type_of_a_later_release_is_unknown_not_rubbish(self, world: BusWorld) -> None:
        bus = await world.connect()
        data = codec.encode_event(an_event(1)).replace(b"HoldLifted", b"HoldMoved")
        await world.store_bytes("dispatch.job.nlp.llama", data)
        (entry,) = await bus.history.read("nlp", "llama")
        assert entry.content == UnknownEvent(type="HoldMoved")

    async def test_an_event_that_would_not_be_read_back_is_not_written(self, world: BusWorld) -> None:
        bus = await world.connect()
        fault = an_event(1)
        with pytest.raises(CodecError, match="decision without a reason"):
            await bus.history.append(
                Envelope(id=fault.id, tenant="nlp", job="llama", expected=0, at=fault.at, by="x", event=fault.event)
            )
        assert await bus.history.read("nlp", "llama") == ()

    async def test_a_follower_sees_what_was_and_what_comes_and_is_told_when_it_caught_up(self, world: BusWorld) -> None:
        bus, writer = await world.connect(), await world.connect()
        await write(writer, 2)
        items = bus.history.follow()
        before = await take_until(items, lambda taken: isinstance(taken[-1], Caught))
        assert numbers(list(before)) == ["h-1", "h-2"]
        assert before[-1] == Caught(revision=2)
        await write(writer, 2, job="bert", first=3)
        after = await take_until(items, lambda taken: len(numbers(list(taken))) == 2)
        assert numbers(list(after)) == ["h-3", "h-4"]

    async def test_a_follower_of_nothing_is_told_so(self, world: BusWorld) -> None:
        bus = await world.connect()
        assert await take_until(bus.history.follow(), lambda taken: len(taken) == 1) == [Caught(revision=0)]

    async def test_a_follower_resumes_after_a_revision_and_sees_one_tenant(self, world: BusWorld) -> None:
        bus = await world.connect()
        await write(bus, 1)
        await write(bus, 1, tenant="vision", first=2)
        await write(bus, 1, job="bert", first=3)
        caught = lambda taken: isinstance(taken[-1], Caught)  # noqa: E731
        assert numbers(list(await take_until(bus.history.follow(after=1), caught))) == ["h-2", "h-3"]
        assert numbers(list(await take_until(bus.history.follow(tenant="vision"), caught))) == ["h-2"]

    async def test_a_follower_ahead_of_the_history_is_told_that_it_went_backwards(self, world: BusWorld) -> None:
        bus = await world.connect()
        await write(bus, 2)
        with pytest.raises(RegressionError):
            await take_until(bus.history.follow(after=7), lambda taken: len(taken) == 1)

    async def test_an_export_holds_every_byte_in_order(self, world: BusWorld) -> None:
        bus = await world.connect()
        await write(bus, 1)
        await world.store_bytes("dispatch.job.vision.bert", b"\xff rubbish")
        stored = [message async for message in bus.history.stored()]
        assert [(message.subject, message.revision) for message in stored] == [
            ("dispatch.job.nlp.llama", 1),
            ("dispatch.job.vision.bert", 2),
        ]
        assert stored[0].data == codec.encode_event(an_event(1))
        assert stored[1].data == b"\xff rubbish"
        assert [message.revision async for message in bus.history.stored(after=1)] == [2]
        assert [message.revision async for message in bus.history.stored(tenant="nlp")] == [1]

    async def test_controls_have_a_history_of_their_own(self, world: BusWorld) -> None:
        bus = await world.connect()
        assert await bus.history.read("nlp", subjects.CONTROLS) == ()
        with pytest.raises(CodecError, match="does not belong"):
            await bus.history.append(an_event(1, job=subjects.CONTROLS))


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
