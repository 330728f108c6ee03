"""Requests and replies pass as bytes without a loss, and an error keeps its class."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from adapters import wire
from adapters.asking import AskingAdapter
from adapters.errors import (
    AdapterError,
    DeadlinePassedError,
    OutcomeUnknownError,
    PodsRemainError,
    RefusedError,
    SilentError,
    UnreachableError,
)
from streams.messages.calls import Capabilities, HoldCall, JobName, OpenCall, Output, StopJobCall
from streams.messages.values import Floor, Found, ObjectRef, Phase, Sighting

NAME = JobName(installation="main", tenant="nlp", job="llama")
REF = ObjectRef(cluster="hpc2", id="88213", created="0" * 26)
AT = datetime(2026, 11, 30, 2, 43, 31, 123456, tzinfo=UTC)
PAIR = Floor(revision=48219, nonce="0" * 26)


@pytest.mark.parametrize(
    "request_",
    [
        OpenCall(name=NAME, call=3, deadline_at=AT, pair=PAIR, object=REF, run=0, submission=1),
        HoldCall(name=NAME, call=3, deadline_at=AT, pair=PAIR, object=REF, instances=("c-1", "c-2")),
        StopJobCall(name=NAME, call=4, deadline_at=AT, pair=PAIR, spare=(REF,)),
        wire.CapabilitiesQuery(),
        wire.FindQuery(name=NAME),
        wire.CeasedQuery(name=NAME, object=REF, run=2),
        wire.OutputQuery(name=NAME, object=REF, run=0, rank=3, offset=-100),
    ],
    ids=wire.verb_of,
)
def test_a_request_is_read_as_it_was_written(request_: wire.Request) -> None:
    assert wire.decode_request(wire.encode(request_)) == request_


@pytest.mark.parametrize(
    "reply",
    [
        wire.Done(),
        wire.Done(object=REF),
        wire.FoundReply(found=Found(as_of=AT, floor=PAIR, sightings=(Sighting(object=REF, phase=Phase.GATED),))),
        wire.FoundReply(found=Found(as_of=AT, detail=((REF, "Priority"),))),
        wire.CapabilitiesReply(capabilities=Capabilities(kind="local", call_bound_s=5.0, requeue_of=(Phase.ENDED,))),
        wire.OutputReply(output=Output(data=b"\x00\xff\n", next=3, source="logs/0.log", written_at=AT)),
    ],
)
def test_a_reply_is_read_as_it_was_written(reply: wire.Reply) -> None:
    assert wire.decode_reply(wire.encode(reply)) == reply


@pytest.mark.parametrize(
    "error", [RefusedError, DeadlinePassedError, UnreachableError, PodsRemainError, OutcomeUnknownError]
)
def test_an_error_comes_back_as_what_it_was(error: type[AdapterError]) -> None:
    carried = wire.decode_reply(wire.encode(wire.failed(error("why"))))
    assert isinstance(carried, wire.Failed)
    back = wire.error_of(carried)
    assert type(back) is error
    assert str(back) == "why"


def test_a_class_that_is_not_known_is_carried_as_the_nearest_that_is() -> None:
    class QuotaError(RefusedError): ...

    class OddError(AdapterError): ...

    assert type(wire.error_of(wire.failed(QuotaError("q")))) is RefusedError
    assert type(wire.error_of(wire.failed(OddError("q")))) is OutcomeUnknownError
    assert type(wire.error_of(wire.Failed(kind="newer", sentence="q"))) is OutcomeUnknownError


@pytest.mark.parametrize("data", [b"", b"{}", b'{"verb":"fnd"}', b'{"verb":"find"}', b'{"verb":"find","name":3}'])
def test_bytes_that_are_no_request_are_told_from_one(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        wire.decode_request(data)


def test_a_request_is_a_call_or_a_query_and_never_both() -> None:
    call = StopJobCall(name=NAME, call=4, deadline_at=AT, pair=PAIR)
    assert wire.is_call(call)
    assert not wire.is_query(call)
    assert wire.is_query(wire.FindQuery(name=NAME))
    assert not wire.is_call(wire.FindQuery(name=NAME))


class Answering(AskingAdapter):
    """Answers everything with one reply."""

    def __init__(self, reply: wire.Reply) -> None:
        self.reply = reply

    async def ask(self, request: wire.Request) -> wire.Reply:
        return self.reply


def test_silence_is_told_apart_from_an_answer_and_an_older_reader_takes_it_as_unreachable() -> None:
    carried = wire.decode_reply(wire.encode(wire.failed(SilentError("the host did not look"))))
    assert isinstance(carried, wire.Failed)
    assert type(wire.error_of(carried)) is SilentError
    assert carried.kind == "unreachable"
    assert type(wire.error_of(wire.failed(UnreachableError("broken")))) is UnreachableError


async def test_an_answer_to_another_question_is_no_answer() -> None:
    adapter = Answering(wire.OutputReply(output=Output()))
    with pytest.raises(UnreachableError):
        await adapter.find(NAME)
    with pytest.raises(OutcomeUnknownError):
        await adapter.stop_job(StopJobCall(name=NAME, call=4, deadline_at=AT, pair=PAIR))


@pytest.mark.parametrize("error", [OutcomeUnknownError, RefusedError, DeadlinePassedError, PodsRemainError])
async def test_a_question_of_a_pass_is_answered_or_unreachable_whatever_its_host_calls_it(
    error: type[AdapterError],
) -> None:
    """A question changes nothing: what is no answer to it is that nothing was done, and it is asked again."""
    adapter = Answering(wire.failed(error("the controller timed out")))
    with pytest.raises(UnreachableError, match="the controller timed out"):
        await adapter.find(NAME)
    with pytest.raises(UnreachableError, match="the controller timed out"):
        await adapter.capabilities()
    with pytest.raises(UnreachableError, match="the controller timed out"):
        await adapter.ceased(NAME, REF, 0)


async def test_a_question_that_only_people_ask_may_be_refused() -> None:
    adapter = Answering(wire.failed(RefusedError("the job has ranks 0 to 3, not 4")))
    with pytest.raises(RefusedError, match="ranks 0 to 3"):
        await adapter.read_output(NAME, REF, 0, 4)
    with pytest.raises(RefusedError, match="ranks 0 to 3"):
        await adapter.inspect(NAME, REF)
    with pytest.raises(UnreachableError, match="timed out"):
        await Answering(wire.failed(OutcomeUnknownError("timed out"))).inspect(NAME, REF)


async def test_a_call_keeps_its_three_outcomes() -> None:
    call = StopJobCall(name=NAME, call=4, deadline_at=AT, pair=PAIR)
    for error in (OutcomeUnknownError, RefusedError, UnreachableError):
        with pytest.raises(error) as raised:
            await Answering(wire.failed(error("why"))).stop_job(call)
        assert type(raised.value) is error
