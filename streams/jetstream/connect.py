"""`streams.ports.Bus` on JetStream: connect, find the current history, read how the bus was laid out."""

from __future__ import annotations

from streams import subjects
from streams.errors import NotPermittedError, SettingsError, StreamError
from streams.jetstream.buckets import JetStreamBuckets
from streams.jetstream.history import JetStreamHistory
from streams.jetstream.layout import IMPORTED_API, Layout, generation_of, history_stream, layout_of
from streams.jetstream.queues import JetStreamCommands, JetStreamWakeUps
from streams.jetstream.settings import BusSettings
from streams.jetstream.wire import ApiError, Wire

__all__ = ["BusSettings", "JetStreamBus", "connect", "current_generation"]

_NO_STREAM = 10059
_NOT_ENABLED = 10039


class JetStreamBus:
    """One connection. It comes back by itself after an outage; after WrongStreamError make a new one."""

    def __init__(self, wire: Wire, layout: Layout, generation: int) -> None:
        self.wire = wire
        self.layout = layout
        self.generation = generation
        self.shards = layout.shards
        self.lease_s = layout.lease_s
        self.history = JetStreamHistory(wire, history_stream(generation), replicated=layout.replicas > 1)
        self.commands = JetStreamCommands(wire)
        self.wakeups = JetStreamWakeUps(wire)
        self.buckets = JetStreamBuckets(wire, generation)

    @property
    def reconnects(self) -> int:
        return self.wire.client.stats["reconnects"]

    @property
    def server_version(self) -> tuple[int, int, int]:
        """Of the server that this connection is with now."""
        version = self.wire.client.connected_server_version
        return version.major, version.minor, version.patch

    async def close(self) -> None:
        """Disconnect. Requests without an answer learn nothing; messages in hand come back after the lease."""
        await self.wire.close()


async def connect(settings: BusSettings) -> JetStreamBus:
    """A bus that was set up, ready to use; its servers' settings are judged by `streams.jetstream.check`.

    Raises BusUnreachableError, NotPermittedError, or SettingsError when nothing was set up there.
    """
    wire = Wire(settings)
    await wire.connect()
    try:
        if not settings.api_prefix:
            await wire.patiently(lambda: _find_api(wire), within_s=settings.read_within_s)
        generation = await wire.patiently(lambda: current_generation(wire), within_s=settings.read_within_s)
        layout = await wire.patiently(lambda: _layout(wire, generation), within_s=settings.read_within_s)
    except StreamError:
        await wire.close()
        raise
    return JetStreamBus(wire, layout, generation)


async def _find_api(wire: Wire) -> None:
    """Whether JetStream's API is this account's own, or the one imported from the account with the streams."""
    try:
        await wire.api("STREAM.NAMES", {"subject": subjects.jobs()})
    except NotPermittedError:
        wire.api_prefix = IMPORTED_API
    except ApiError as error:
        if error.err_code != _NOT_ENABLED:
            raise
        wire.api_prefix = IMPORTED_API


async def current_generation(wire: Wire) -> int:
    """The generation of the stream that listens on the jobs' subjects now. Raises SettingsError if there is none."""
    answer = await wire.api("STREAM.NAMES", {"subject": subjects.jobs()})
    generations = [generation for name in answer.get("streams") or [] if (generation := generation_of(name))]
    if not generations:
        raise SettingsError(("no history is kept on this bus: run dispatch setup",))
    return max(generations)


async def _layout(wire: Wire, generation: int) -> Layout:
    """The layout that set-up left in the history's metadata."""
    try:
        answer = await wire.api(f"STREAM.INFO.{history_stream(generation)}")
    except ApiError as error:
        if error.err_code == _NO_STREAM:
            raise SettingsError((f"{history_stream(generation)} went away: run dispatch doctor",)) from error
        raise
    layout = layout_of(answer["config"])
    if layout is None:
        raise SettingsError((f"{history_stream(generation)} was not made by dispatch setup",))
    return layout
