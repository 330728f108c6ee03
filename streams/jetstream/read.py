"""Reading stored messages: batches of direct gets, one request a page. Any copy may answer, so a read may be old.

Every message of a batch names the one before it, so a lost one is noticed and the page asked for again.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from streams.errors import SettingsError
from streams.jetstream.connection import Heard
from streams.jetstream.wire import ApiError, NoAnswerError, Wire, status_of
from streams.ports import Stored

PAGE_MESSAGES = 1000
PAGE_BYTES = 8 * 1024 * 1024
NO_MESSAGE = 10037

_END_OF_BATCH = "204"
_NOT_FOUND = "404"


class _Page(msgspec.Struct, frozen=True, kw_only=True):
    messages: list[Stored]
    more: bool


async def pages(wire: Wire, stream: str, subject: str, *, after: int = 0) -> AsyncIterator[list[Stored]]:
    """Messages of `subject` (a filter too) above `after` in order, to the present end, page by page.

    Raises BusUnreachableError when no copy answers within `read_within_s`, SettingsError for a refused request.
    """
    more = True
    while more:
        ask = functools.partial(_page, wire, stream, subject, after + 1)
        page = await wire.patiently(ask, within_s=wire.settings.read_within_s)
        if page.messages:
            after = page.messages[-1].revision
            yield page.messages
        more = page.more


async def last_of(wire: Wire, stream: str, subject: str) -> Stored | None:
    """The last message of one subject, from any copy."""

    async def get() -> Stored | None:
        message = await wire.ask(wire.method(f"DIRECT.GET.{stream}.{subject}"))
        return None if status_of(message, message.subject) == _NOT_FOUND else _stored(message, stream)

    return await wire.patiently(get, within_s=wire.settings.read_within_s)


async def last_revision(wire: Wire, stream: str, subject: str) -> int:
    """The revision of the last message of one subject, from the stream's leader; 0 without any."""
    stored = await newest_of(wire, stream, subject)
    return 0 if stored is None else stored.revision


async def newest_of(wire: Wire, stream: str, subject: str) -> Stored | None:
    """The last message of one subject, from the stream's leader."""
    get = functools.partial(_from_leader, wire, stream, {"last_by_subj": subject})
    return await wire.patiently(get, within_s=wire.settings.read_within_s)


async def first_after(wire: Wire, stream: str, subject: str, revision: int) -> Stored | None:
    """The first message of `subject` above `revision`, from the stream's leader."""
    return await _from_leader(wire, stream, {"seq": revision + 1, "next_by_subj": subject})


async def _from_leader(wire: Wire, stream: str, which: dict[str, Any]) -> Stored | None:
    try:
        answer = await wire.api(f"STREAM.MSG.GET.{stream}", which)
    except ApiError as error:
        if error.err_code == NO_MESSAGE:
            return None
        raise
    message = answer["message"]
    return Stored(
        subject=message["subject"],
        data=base64.b64decode(message.get("data", "")),
        revision=int(message["seq"]),
        stored_at=instant(message["time"]),
    )


def instant(text: str) -> datetime:
    """A server's time stamp (nanoseconds, `Z`) as an aware time, to the microsecond."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{whole}.{fraction[:6]:0<6}+00:00").astimezone(UTC)


async def _page(wire: Wire, stream: str, subject: str, start: int) -> _Page:
    body = {"seq": start, "next_by_subj": subject, "batch": PAGE_MESSAGES, "max_bytes": PAGE_BYTES}
    messages: list[Stored] = []
    last = 0
    async with wire.replies() as replies:
        await wire.send(wire.method(f"DIRECT.GET.{stream}"), json.dumps(body).encode(), replies=replies)
        while True:
            message = await replies.next(wire.settings.request_within_s)
            headers: dict[str, Any] = message.headers or {}
            status = status_of(message, replies.inbox)
            if status == _NOT_FOUND:
                return _Page(messages=messages, more=False)
            if status and status != _END_OF_BATCH:
                raise SettingsError((f"{stream} refuses a read: {status} {headers.get('Description', '')}",))
            if int(headers.get("Nats-Last-Sequence", -1)) != last:
                raise NoAnswerError(f"a message of {stream} after {last} was lost on its way")
            if status == _END_OF_BATCH:
                return _Page(messages=messages, more=int(headers.get("Nats-Num-Pending", 0)) > 0)
            messages.append(_stored(message, stream))
            last = messages[-1].revision


def _stored(message: Heard, stream: str) -> Stored:
    headers = message.headers or {}
    try:
        return Stored(
            subject=headers["Nats-Subject"],
            data=message.data,
            revision=int(headers["Nats-Sequence"]),
            stored_at=instant(headers["Nats-Time-Stamp"]),
        )
    except (KeyError, ValueError) as error:
        raise ApiError(500, 0, f"{stream} gave an answer that is no message") from error
