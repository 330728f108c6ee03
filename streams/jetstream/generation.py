"""Restoring a history into a new generation, every message at the revision it had.

Tags on objects name revisions (L14), so an export is loaded with its sequences: the new stream begins at the first
one, and numbers the export lacks are filled and purged before the stream is closed for good. It listens on the
jobs' subjects only once it was read back whole. The older stream is kept, and hears nothing any more; an append
that names it is refused from then on, however late it arrives.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from streams import subjects
from streams.errors import BusUnreachableError, SettingsError
from streams.jetstream.append import kept_by
from streams.jetstream.layout import (
    Layout,
    Settings,
    differences,
    generation_of,
    history_settings,
    history_stream,
)
from streams.jetstream.read import pages
from streams.jetstream.setup import (
    DONE_WITHIN_S,
    STREAM_NOT_FOUND,
    SetupReport,
    ask_admin,
    create_stream,
    histories,
    is_current,
    setup,
    update_stream,
)
from streams.jetstream.wire import ApiError, NoAnswerError, Wire, answer_of

BATCH_MESSAGES = 500
BATCH_BYTES = 2 * 1024 * 1024
BATCH_WITHIN_S = 10.0


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """One message of an export: the bytes that stood on `subject` at `revision`."""

    subject: str
    data: bytes
    revision: int


class RestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was restored. `filled`: revisions that the export lacks; they stay empty.

    `left_out`: messages whose subject no job can have; they belong to no history.
    """

    generation: int
    messages: int
    filled: int
    left_out: int
    last_revision: int
    made: SetupReport


async def new_generation(wire: Wire, layout: Layout, exported: Iterable[Exported], *, above: int = 0) -> RestoreReport:
    """Load an export into the next generation and make it the current history.

    `above`: a generation that is lost with its servers but may still have writers; the new one is higher. May be
    run again after it failed: a generation that was never current is made anew. Raises SettingsError when the
    export is not in order or does not read back the same; nothing was switched then.
    """
    found = await histories(wire)
    for generation in [number for number, settings in found.items() if _is_loading(settings)]:
        await ask_admin(wire, f"STREAM.DELETE.{history_stream(generation)}", gone=frozenset({STREAM_NOT_FOUND}))
        del found[generation]
    generation = max(above, 0, *found) + 1
    messages = iter(exported)
    first = next(messages, None)
    start = 1 if first is None else first.revision
    await create_stream(wire, _loading(layout, generation, start))
    load = _Load(wire, generation, last=start - 1)
    await load.run(messages if first is None else itertools.chain((first,), messages))
    await load.read_back()
    for older, settings in found.items():
        if is_current(settings):
            await update_stream(wire, {**settings, "subjects": [subjects.retired(older)]})
    wanted = history_settings(layout, generation)
    wrong = differences(wanted["name"], wanted, await update_stream(wire, {**wanted, "first_seq": start}))
    if wrong:
        raise SettingsError(wrong)
    made = await setup(wire, layout)
    return RestoreReport(
        generation=generation,
        messages=load.count,
        filled=load.filled,
        left_out=load.left_out,
        last_revision=load.last,
        made=made,
    )


class _Load:
    """The messages of one export on their way into one stream; `last` is the revision of the last one there."""

    def __init__(self, wire: Wire, generation: int, *, last: int) -> None:
        self._wire = wire
        self._generation = generation
        self._stream = history_stream(generation)
        self._digest = hashlib.sha256()
        self.last = last
        self.count = 0
        self.filled = 0
        self.left_out = 0

    async def run(self, messages: Iterable[Exported]) -> None:
        for batch in _batches(self._in_order(messages)):
            await self._store(batch)
        if self.filled:
            await ask_admin(self._wire, f"STREAM.PURGE.{self._stream}", {"filter": subjects.gap(self._generation)})

    async def read_back(self) -> None:
        """That the stream holds what was loaded, byte for byte. Raises SettingsError if not."""
        digest, count = hashlib.sha256(), 0
        give_up_at = time.monotonic() + DONE_WITHIN_S
        after = 0
        while count < self.count and time.monotonic() < give_up_at:
            async for page in pages(self._wire, self._stream, subjects.jobs(), after=after):
                for stored in page:
                    digest.update(_seal(stored.revision, stored.subject, stored.data))
                count += len(page)
                after = page[-1].revision
                give_up_at = time.monotonic() + DONE_WITHIN_S
        if (count, digest.digest()) != (self.count, self._digest.digest()):
            raise SettingsError((f"{self._stream} does not read back as it was loaded; nothing was switched",))

    def _in_order(self, messages: Iterable[Exported]) -> Iterator[tuple[str, bytes]]:
        """Subject and bytes for every revision from the first on; a gap has a subject of its own."""
        place = self.last + 1
        for message in messages:
            if message.revision < place:
                raise SettingsError((f"the export is not in order: r{message.revision} comes after r{place - 1}",))
            loading = subjects.loading_of(message.subject, self._generation)
            if loading is None:
                self.left_out += 1
                continue
            for _ in range(place, message.revision):
                self.filled += 1
                yield subjects.gap(self._generation), b""
            self._digest.update(_seal(message.revision, message.subject, message.data))
            self.count += 1
            place = message.revision + 1
            yield loading, message.data

    async def _store(self, batch: Sequence[tuple[str, bytes]]) -> None:
        """Store a batch right behind `last`, all of it or nothing, once."""
        end, said = self.last + len(batch), ""
        give_up_at = time.monotonic() + 6 * BATCH_WITHIN_S
        while True:
            try:
                await self._publish(batch)
            except (ApiError, BusUnreachableError, NoAnswerError) as error:
                said = str(error)
            info = await ask_admin(self._wire, f"STREAM.INFO.{self._stream}")
            if info["state"]["last_seq"] == end:
                break
            if time.monotonic() > give_up_at:
                raise BusUnreachableError(f"{self._stream} does not take the export ({said}); run it again")
            await asyncio.sleep(0.2)
        self.last = end

    async def _publish(self, batch: Sequence[tuple[str, bytes]]) -> None:
        """The condition on the first message makes a batch that is sent again, or late, do nothing."""
        name = f"r{self.last + 1}-{time.monotonic_ns()}"
        first = {"Nats-Expected-Last-Sequence": str(self.last), **kept_by(self._stream)}
        async with self._wire.replies() as replies:
            for number, (subject, data) in enumerate(batch, start=1):
                headers = {"Nats-Batch-Id": name, "Nats-Batch-Sequence": str(number)}
                headers |= first if number == 1 else {}
                headers |= {"Nats-Batch-Commit": "1"} if number == len(batch) else {}
                await self._wire.send(subject, data, replies=replies if number == len(batch) else None, headers=headers)
            answer_of(await replies.next(BATCH_WITHIN_S))


def _batches(messages: Iterator[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    size = 0
    for subject, data in messages:
        if batch and (len(batch) == BATCH_MESSAGES or size + len(data) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((subject, data))
        size += len(data)
    if batch:
        yield batch


def _seal(revision: int, subject: str, data: bytes) -> bytes:
    return f"{revision} {subject} {len(data)}\n".encode() + data


def _loading(layout: Layout, generation: int, start: int) -> Settings:
    """As the history will be, but on subjects of its own, and with gaps that can still be purged."""
    place = subjects.loading(generation)
    return {
        **history_settings(layout, generation),
        "subjects": [place, subjects.gap(generation)],
        "subject_transform": {"src": place, "dest": subjects.loaded()},
        "first_seq": start,
        "deny_delete": False,
        "deny_purge": False,
    }


def _is_loading(settings: Settings) -> bool:
    """Whether a generation was begun and never became current."""
    generation = generation_of(settings["name"])
    return generation is not None and subjects.gap(generation) in (settings.get("subjects") or [])
