"""Making what a bus needs, with an admin's credentials. What exists and differs is told, never changed."""

from __future__ import annotations

import asyncio
import functools

import msgspec

from streams import subjects
from streams.errors import SettingsError
from streams.jetstream.layout import (
    SHARDS_MAX,
    Layout,
    Settings,
    consumers_of,
    differences,
    generation_of,
    history_stream,
    streams_of,
)
from streams.jetstream.wire import ApiError, Wire

STREAM_NOT_FOUND = 10059
CONSUMER_NOT_FOUND = 10014
ANSWER_WITHIN_S = 10.0
DONE_WITHIN_S = 30.0
CONSUMERS_AT_ONCE = 8


class SetupReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `setup` did: names of what it created, and of what was there already."""

    generation: int
    created: tuple[str, ...]
    kept: tuple[str, ...]


async def setup(wire: Wire, layout: Layout) -> SetupReport:
    """Create every stream, bucket and consumer that is missing, and read all of it back.

    Raises SettingsError, one sentence a difference, when something exists and differs or a server made something
    else than it was asked for; what was created until then stays. May be run again.
    """
    _check_layout(layout)
    generation = await _generation(wire)
    created: list[str] = []
    kept: list[str] = []
    wrong: list[str] = []
    for wanted in streams_of(layout, generation):
        actual = await find_stream(wire, wanted["name"])
        (created if actual is None else kept).append(wanted["name"])
        wrong += differences(wanted["name"], wanted, actual or await create_stream(wire, wanted))
    if wrong:
        raise SettingsError(tuple(wrong))
    at_once = asyncio.Semaphore(CONSUMERS_AT_ONCE)
    made = await asyncio.gather(*(_consumer(wire, stream, wanted, at_once) for stream, wanted in consumers_of(layout)))
    for name, new, unlike in made:
        (created if new else kept).append(name)
        wrong += unlike
    if wrong:
        raise SettingsError(tuple(wrong))
    return SetupReport(generation=generation, created=tuple(created), kept=tuple(kept))


async def ask_admin(
    wire: Wire, method: str, body: Settings | None = None, *, gone: frozenset[int] = frozenset()
) -> Settings:
    """One call of JetStream's API that may be repeated; {} if it answers with an error number in `gone`.

    Raises SettingsError, naming the call, for every other error answer.
    """
    ask = functools.partial(wire.api, method, body, within_s=ANSWER_WITHIN_S)
    try:
        return await wire.patiently(ask, within_s=DONE_WITHIN_S)
    except ApiError as error:
        if error.err_code in gone:
            return {}
        raise SettingsError((f"{method}: {error}",)) from error


async def find_stream(wire: Wire, name: str) -> Settings | None:
    """The settings of a stream as the server returns them; None if there is no such stream."""
    answer = await ask_admin(wire, f"STREAM.INFO.{name}", gone=frozenset({STREAM_NOT_FOUND}))
    return answer.get("config")


async def find_consumer(wire: Wire, stream: str, name: str) -> Settings | None:
    """The settings of a durable consumer; None if there is no such consumer or stream."""
    gone = frozenset({STREAM_NOT_FOUND, CONSUMER_NOT_FOUND})
    return (await ask_admin(wire, f"CONSUMER.INFO.{stream}.{name}", gone=gone)).get("config")


async def create_stream(wire: Wire, wanted: Settings) -> Settings:
    """Create a stream; its settings as the server made them. Asking twice makes one."""
    made: Settings = (await ask_admin(wire, f"STREAM.CREATE.{wanted['name']}", wanted))["config"]
    return made


async def update_stream(wire: Wire, wanted: Settings) -> Settings:
    """Change a stream; its settings as the server returns them."""
    made: Settings = (await ask_admin(wire, f"STREAM.UPDATE.{wanted['name']}", wanted))["config"]
    return made


async def histories(wire: Wire) -> dict[int, Settings]:
    """Every generation of the history on this bus and its settings."""
    found: dict[int, Settings] = {}
    for name in await _stream_names(wire):
        generation = generation_of(name)
        settings = await find_stream(wire, name) if generation else None
        if generation and settings is not None:
            found[generation] = settings
    return found


def is_current(settings: Settings) -> bool:
    """Whether a history listens on the jobs' subjects."""
    return subjects.jobs() in (settings.get("subjects") or [])


async def _stream_names(wire: Wire) -> list[str]:
    names: list[str] = []
    while True:
        page = await ask_admin(wire, "STREAM.NAMES", {"offset": len(names)})
        names += page.get("streams") or []
        if not page.get("streams") or len(names) >= page.get("total", 0):
            return names


async def _generation(wire: Wire) -> int:
    """The generation in force; 1 on a new bus. Raises SettingsError when a restore was begun and not ended."""
    found = await histories(wire)
    current = [generation for generation, settings in found.items() if is_current(settings)]
    if current:
        return max(current)
    if found:
        newest = history_stream(max(found))
        raise SettingsError((f"{newest} exists and no history is current: finish with setup --new-generation",))
    return 1


async def _consumer(
    wire: Wire, stream: str, wanted: Settings, at_once: asyncio.Semaphore
) -> tuple[str, bool, tuple[str, ...]]:
    name = wanted["durable_name"]
    async with at_once:
        actual = await find_consumer(wire, stream, name)
        made = actual or await _create_consumer(wire, stream, wanted)
        return f"{stream}/{name}", actual is None, differences(f"{stream}/{name}", wanted, made)


async def _create_consumer(wire: Wire, stream: str, wanted: Settings) -> Settings:
    method = f"CONSUMER.CREATE.{stream}.{wanted['durable_name']}"
    if "filter_subject" in wanted:
        method += f".{wanted['filter_subject']}"
    made: Settings = (await ask_admin(wire, method, {"stream_name": stream, "config": wanted}))["config"]
    return made


def _check_layout(layout: Layout) -> None:
    if not 1 <= layout.shards <= SHARDS_MAX:
        raise SettingsError((f"shards is {layout.shards}, must be 1 to {SHARDS_MAX}",))
    if layout.replicas not in {1, 3, 5}:
        raise SettingsError((f"replicas is {layout.replicas}, must be 3 or 5 (1 for a single machine)",))
    if not subjects.is_token(layout.installation):
        raise SettingsError((f"installation {layout.installation[:80]!r} must be a name",))
    if not 0.1 <= layout.lease_s <= 3600:
        raise SettingsError((f"lease is {layout.lease_s:g}s, must be 0.1s to 3600s",))
