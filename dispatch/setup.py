"""`dispatch setup`: make what a bus needs, with an admin's credentials; change nothing that exists and differs."""

from __future__ import annotations

import secrets

from msgspec.structs import replace

from streams.errors import SettingsError
from streams.jetstream.connect import connect
from streams.jetstream.layout import Layout
from streams.jetstream.settings import BusSettings
from streams.jetstream.setup import SetupReport, setup
from streams.jetstream.wire import Wire


async def set_up(settings: BusSettings, layout: Layout) -> SetupReport:
    """Create every stream, bucket and consumer that is missing. May be run again.

    An installation that exists keeps its name. Raises SettingsError with one sentence a difference,
    BusUnreachableError, NotPermittedError.
    """
    known = await known_layout(settings)
    if known is not None:
        layout = replace(layout, installation=known.installation)
    wire = Wire(settings)
    await wire.connect()
    try:
        return await setup(wire, layout)
    finally:
        await wire.close()


async def known_layout(settings: BusSettings) -> Layout | None:
    """The layout of the history that is there; None where none is. Raises BusUnreachableError, NotPermittedError."""
    try:
        bus = await connect(settings)
    except SettingsError:
        return None
    try:
        return bus.layout
    finally:
        await bus.close()


def new_installation() -> str:
    """A name for a new installation that no other has."""
    return f"d{secrets.token_hex(4)}"
