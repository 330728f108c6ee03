"""What the present credentials may do on a bus, found out by asking for it in a way that can change nothing.

A publish names a stream that is none, so the stream refuses it; a request to make a stream names two. The server checks
the permission first, so its answer tells. Reads ask for a job that there is not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from streams import subjects
from streams.errors import BusUnreachableError, NotPermittedError, StreamError
from streams.jetstream.append import kept_by
from streams.jetstream.connect import JetStreamBus
from streams.jetstream.wire import ApiError

PROBE = "doctor-probe"
ASK_WITHIN_S = 3.0
MAKE_STREAMS = "make and change streams"

Ask = Callable[[], Awaitable[object]]


class Rights(msgspec.Struct, frozen=True, kw_only=True):
    """In words: what is allowed, what is not, and what could not be found out."""

    may: tuple[str, ...]
    may_not: tuple[str, ...]
    unclear: tuple[str, ...] = ()


async def rights_of(bus: JetStreamBus, *, tenant: str | None, actor: str) -> Rights:
    """The rights of this connection. `tenant` None: whether it may publish commands is not asked."""
    answers: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for what, ask in _questions(bus, tenant, actor):
        answers[await _allowed(ask)].append(what)
    return Rights(may=tuple(answers[True]), may_not=tuple(answers[False]), unclear=tuple(answers[None]))


def _questions(bus: JetStreamBus, tenant: str | None, actor: str) -> list[tuple[str, Ask]]:
    named = tenant or PROBE
    asked: list[tuple[str, Ask]] = []
    if tenant is not None:
        command = subjects.command(tenant, actor, "submit", PROBE)
        asked.append((f"publish commands of {tenant} as {actor}", lambda: _refused_publish(bus, command)))
    asked += [
        ("read histories", lambda: bus.history.read(named, PROBE)),
        ("read status", lambda: bus.buckets.get_status(f"{named}.{PROBE}")),
        ("read receipts", lambda: bus.buckets.get_receipt(named, PROBE)),
        ("append events", lambda: _refused_publish(bus, subjects.job(named, PROBE))),
        ("wake jobs", lambda: _refused_publish(bus, subjects.wake(named, PROBE))),
    ]
    return [*asked, (MAKE_STREAMS, lambda: bus.wire.api(f"STREAM.CREATE.{PROBE}", {"name": "another"}))]


async def _allowed(ask: Ask) -> bool | None:
    """Whether the server lets it through; None when it gave no answer that says so."""
    try:
        await ask()
    except NotPermittedError:
        return False
    except BusUnreachableError:
        return None
    except ApiError:
        return True
    except StreamError:
        return None
    return True


async def _refused_publish(bus: JetStreamBus, subject: str) -> None:
    """A message that whoever keeps this subject must refuse: it is for a stream of another name."""
    await bus.wire.ask(subject, headers=kept_by(PROBE), within_s=ASK_WITHIN_S)
