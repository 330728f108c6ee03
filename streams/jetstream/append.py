"""The conditional append: the only write to a history, and the only proof that a read was fresh.

The server stores a message only if the subject's last sequence is the one in the condition header; an empty or
misspelled header would store it unconditionally, so `condition` is the one place that writes it. No message id is
sent: on a replicated stream the server would check it before the condition. Our own stored event is recognised by
its id in the body: nothing is ever deleted, so it can only be the first event after the expected revision.
"""

from __future__ import annotations

import asyncio
import random
import re
import time

from streams import codec, subjects
from streams.errors import (
    BusUnreachableError,
    ConflictError,
    NotPermittedError,
    RegressionError,
    SettingsError,
    StreamFullError,
    TooLargeError,
    UndecidedError,
    WrongStreamError,
)
from streams.jetstream.publish import MESSAGE_TOO_LARGE, STREAM_LIMIT, WRITE_IN_FLIGHT, WRONG_LAST_SEQUENCE
from streams.jetstream.read import first_after
from streams.jetstream.wire import ApiError, NoAnswerError, Wire, answer_of
from streams.messages.events import Envelope

WRONG_STREAM = 10060

_NOT_DECIDED = frozenset({WRITE_IN_FLIGHT, 10158, 10163})
_LAST_SEQUENCE = re.compile(r"wrong last sequence: (\d+)")
_PAUSE_S = 0.01
_PAUSE_MAX_S = 0.5


def condition(stream: str, expected: int) -> dict[str, str]:
    """The headers of a conditional write: stored only in `stream`, only if the subject's last is `expected`."""
    revision = str(int(expected))
    if int(expected) < 0:
        raise ValueError(f"{revision} is no revision")
    return {"Nats-Expected-Last-Subject-Sequence": revision, **kept_by(stream)}


def kept_by(stream: str) -> dict[str, str]:
    """The header of a write that is stored only in `stream`."""
    return {"Nats-Expected-Stream": stream}


def last_sequence(error: ApiError) -> int | None:
    """The subject's last sequence, as a refused condition tells it."""
    found = _LAST_SEQUENCE.search(error.description)
    return int(found.group(1)) if error.err_code == WRONG_LAST_SEQUENCE and found else None


class Append:
    """One event on its way into the history, tried until it is decided or time is up.

    `replicated`: more than one server, so that a replaced leader may give old answers for a while.
    """

    def __init__(self, wire: Wire, stream: str, envelope: Envelope, *, replicated: bool) -> None:
        self._wire = wire
        self._stream = stream
        self._envelope = envelope
        self._data = codec.encode_event(envelope)
        self._subject = subjects.job(envelope.tenant, envelope.job)
        self._headers = condition(stream, envelope.expected)
        self._may_be_stored = False
        self._sent = False
        self._regressed_since: float | None = None
        self._regression_after_s = wire.settings.regression_after_s if replicated else 0.0

    async def run(self) -> int:
        """The revision of the stored event. Raises as `History.append`; cancelled, the caller learns nothing."""
        give_up_at = time.monotonic() + self._wire.settings.append_within_s
        pause_s, said = _PAUSE_S, "no time was given"
        while (left_s := give_up_at - time.monotonic()) > 0 and not self._wire.closed:
            try:
                return await self._try(min(self._wire.settings.request_within_s, left_s))
            except ApiError as error:
                revision = await self._judge(error)
                if revision is not None:
                    return revision
            except BusUnreachableError as error:
                said = str(error)
            except NoAnswerError:
                self._may_be_stored = self._sent = True
            except NotPermittedError:
                if self._may_be_stored:
                    raise self._undecided() from None
                raise
            await asyncio.sleep(random.uniform(pause_s / 2, pause_s))
            pause_s = min(_PAUSE_MAX_S, pause_s * 2)
        if self._sent:
            raise self._undecided()
        raise BusUnreachableError(f"{self._subject}: {said}")

    async def _try(self, within_s: float) -> int:
        message = await self._wire.ask(self._subject, self._data, headers=dict(self._headers), within_s=within_s)
        return int(answer_of(message)["seq"])

    async def _judge(self, error: ApiError) -> int | None:
        """The revision if the event proves to be stored, None to try again; raises what is decided."""
        self._sent = True
        if error.err_code == WRONG_LAST_SEQUENCE:
            return await self._judge_sequence(last_sequence(error))
        self._regressed_since = None
        if error.err_code == WRONG_STREAM:
            raise WrongStreamError(f"{self._stream} is no longer the current history") from error
        if error.err_code in {STREAM_LIMIT, MESSAGE_TOO_LARGE}:
            full = TooLargeError if error.err_code == MESSAGE_TOO_LARGE else StreamFullError
            raise self._undecided() if self._may_be_stored else full(f"{self._stream}: {error}") from error
        if error.code < 500 and error.err_code not in _NOT_DECIDED:
            raise SettingsError((f"{self._stream} refuses an event: {error}",)) from error
        return None

    async def _judge_sequence(self, current: int | None) -> int | None:
        """After a refused condition: conflict, regression, or our own event that stands there already."""
        expected = self._envelope.expected
        if current is None:
            return None
        if current < expected:
            self._judge_regression(current)
            return None
        self._regressed_since = None
        try:
            first = await first_after(self._wire, self._stream, self._subject, expected)
        except (NoAnswerError, BusUnreachableError, ApiError):
            return None
        if first is None:  # an older copy answered; the event that refused ours is not in it yet
            return None
        content = codec.decode_event(
            self._subject, first.data, revision=first.revision, stored_at=first.stored_at
        ).content
        if isinstance(content, Envelope) and content.id == self._envelope.id:
            return first.revision
        raise ConflictError(self._subject, expected, current)

    def _judge_regression(self, current: int) -> None:
        """A replaced leader answers from the past for a while; only a lasting answer is believed."""
        now = time.monotonic()
        self._regressed_since = self._regressed_since if self._regressed_since is not None else now
        if now - self._regressed_since >= self._regression_after_s:
            raise RegressionError(self._subject, self._envelope.expected, current)

    def _undecided(self) -> UndecidedError:
        return UndecidedError(self._subject, self._envelope.id)
