"""Storing a message that may be stored twice: commands, wake-ups, timers, receipts, heartbeats."""

from __future__ import annotations

import asyncio
import time

from streams.errors import (
    BusUnreachableError,
    ConflictError,
    NotPermittedError,
    SettingsError,
    StreamError,
    StreamFullError,
    TooLargeError,
    UndecidedError,
)
from streams.jetstream.wire import ApiError, NoAnswerError, Wire, answer_of

STREAM_LIMIT = 10077
MESSAGE_TOO_LARGE = 10054
WRONG_LAST_SEQUENCE = 10071
WRITE_IN_FLIGHT = 10164
PAUSE_S = 0.1


async def put(wire: Wire, subject: str, data: bytes, *, what: str, headers: dict[str, str] | None = None) -> int:
    """The sequence of the stored message. Tried for `publish_within_s`, which outlasts an election.

    Raises UndecidedError (naming `what`) when it was sent and not answered, StreamFullError or TooLargeError at a limit,
    ConflictError when a condition among `headers` does not hold, SettingsError when the stream refuses it otherwise, and as every method BusUnreachableError and NotPermittedError.
    """
    give_up_at = time.monotonic() + wire.settings.publish_within_s
    sent, said = False, "the connection is closed"
    while time.monotonic() < give_up_at and not wire.closed:
        try:
            return int(answer_of(await wire.ask(subject, data, headers=dict(headers or {})))["seq"])
        except NoAnswerError:
            sent = True
        except BusUnreachableError as error:
            said = str(error)
        except NotPermittedError as error:
            if sent:
                raise UndecidedError(subject, what) from error
            raise
        except ApiError as error:
            if error.code < 500 or error.err_code == STREAM_LIMIT:
                raise refused(subject, error) from error
        await asyncio.sleep(PAUSE_S)
    if sent:
        raise UndecidedError(subject, what)
    raise BusUnreachableError(f"{subject}: {said}")


def refused(subject: str, error: ApiError) -> StreamError:
    """What a refusal by a stream means to the caller."""
    if error.err_code in {WRONG_LAST_SEQUENCE, WRITE_IN_FLIGHT}:
        return ConflictError(subject, 0, None)
    if error.err_code == MESSAGE_TOO_LARGE:
        return TooLargeError(f"{subject}: {error}")
    if error.err_code == STREAM_LIMIT:
        return StreamFullError(f"{subject}: {error}")
    return SettingsError((f"{subject} was refused: {error}",))
