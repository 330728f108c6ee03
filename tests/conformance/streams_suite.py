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
from streams.ports import Caught
from tests.conformance.streams_world import (
    BusWorld,
    an_event,
    numbers,
    take_until,
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

    async def test_the_last_revision_of_a_job_is_its_own_and_none_is_zero(self, world: BusWorld) -> None:
        bus, reader = await world.connect(), await world.connect()
        assert await reader.history.last_revision("nlp", "llama") == 0
        *_, last = await write(bus, 2)
        await write(bus, 1, job="bert", first=3)
        assert await reader.history.last_revision("nlp", "llama") == last
        assert await reader.history.last_revision("vision", "llama") == 0

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
