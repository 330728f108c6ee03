"""What an answer may hold: whatever a host says, the event that keeps it fits on the bus."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from adapters import wire
from adapters.asking import AskingAdapter
from adapters.errors import OutcomeUnknownError, RefusedError, UnreachableError
from adapters.sizes import ANSWER_BYTES_MAX, NAME_MAX, TEXT_MAX
from streams import codec
from streams.messages.calls import Cessation, JobName, StartCall
from streams.messages.event_ids import event_id
from streams.messages.events import Envelope, ObjectsSeen
from streams.messages.spec import JobSpec, Run
from streams.messages.values import (
    Cause,
    CauseKind,
    CessationAnswer,
    CessationBasis,
    Floor,
    Found,
    NodeState,
    ObjectRef,
    Phase,
    Sighting,
    Tag,
)

AT = datetime(2026, 11, 30, 2, 43, 31, tzinfo=UTC)
NAME = JobName(installation="main", tenant="nlp", job="llama")
REF = ObjectRef(cluster="hpc2", id="88213", created="0" * 26)
SEEN = Sighting(object=REF, phase=Phase.ENDED)
TOO_LONG = "n" * (NAME_MAX + 1)
MAX_PAYLOAD, HEADERS_ABOUT = 1024 * 1024, 4096


class Answering(AskingAdapter):
    """Answers everything with one reply."""

    def __init__(self, reply: wire.Reply) -> None:
        self.reply = reply

    async def ask(self, request: wire.Request) -> wire.Reply:
        return self.reply


def shows(*sightings: Sighting) -> Answering:
    return Answering(wire.FoundReply(found=Found(as_of=AT, sightings=sightings)))


def padded(length: int) -> Sighting:
    return msgspec.structs.replace(SEEN, cause=Cause(kind=CauseKind.UNKNOWN, raw={"said": "x" * length}))


def word(*nodes: NodeState) -> wire.CessationReply:
    cessation = Cessation(answer=CessationAnswer.MAY_RUN, basis=CessationBasis.OBSERVED, as_of=AT, nodes=nodes)
    return wire.CessationReply(cessation=cessation)


async def test_the_largest_find_that_is_taken_fits_into_one_event() -> None:
    base = len(msgspec.json.encode(Found(as_of=AT, sightings=(padded(0),))))
    largest = ANSWER_BYTES_MAX - base
    found = await shows(padded(largest)).find(NAME)
    event = Envelope(
        id=event_id(AT, bytes(10)),
        tenant="nlp",
        job="llama",
        expected=1,
        at=AT,
        by="replica:sv-a",
        event=ObjectsSeen(as_of=AT, read_revision=1, sightings=found.sightings),
    )
    assert len(codec.encode_event(event)) < MAX_PAYLOAD - HEADERS_ABOUT
    with pytest.raises(UnreachableError, match="the most that can be kept"):
        await shows(padded(largest + 1)).find(NAME)


@pytest.mark.parametrize(
    "seen",
    [
        Sighting(object=ObjectRef(cluster="hpc2", id=TOO_LONG, created="0"), phase=Phase.RUNNING),
        Sighting(object=ObjectRef(cluster="hpc2", id="1", created=TOO_LONG), phase=Phase.RUNNING),
        Sighting(object=REF, phase=Phase.RUNNING, nodes=("n-1", TOO_LONG)),
        Sighting(object=REF, phase=Phase.ENDED, cause=Cause(kind=CauseKind.NODE_LOST, nodes=(TOO_LONG,))),
    ],
    ids=["id", "created", "node", "node of the cause"],
)
async def test_a_find_with_a_name_too_long_to_be_kept_is_no_answer(seen: Sighting) -> None:
    with pytest.raises(UnreachableError, match="a name of 257 characters, the most is 256"):
        await shows(SEEN, seen).find(NAME)


async def test_what_a_find_shows_to_people_is_cut_and_nothing_else_of_it() -> None:
    whole = Found(as_of=AT, sightings=(SEEN,), detail=((REF, "Priority " * 200),))
    taken = await Answering(wire.FoundReply(found=whole)).find(NAME)
    assert taken.detail == ((REF, ("Priority " * 200)[:TEXT_MAX]),)
    assert msgspec.structs.replace(taken, detail=()) == msgspec.structs.replace(whole, detail=())


async def test_a_word_on_processes_too_large_to_be_kept_is_no_word() -> None:
    many = NodeState(node="n-1", may_run=("python " * 100,) * 2000)
    for reply, why in ((word(many), "the most that can be kept"), (word(NodeState(node=TOO_LONG)), "a name of 257")):
        with pytest.raises(UnreachableError, match=why):
            await Answering(reply).ceased(NAME, REF, 0)
    spoken = word(NodeState(node="n-1", may_run=("python",)))
    assert await Answering(spoken).ceased(NAME, REF, 0) == spoken.cessation


async def test_a_start_that_is_answered_with_a_name_too_long_to_be_kept_is_unknown() -> None:
    """L9: an object was made, and only a Find can tell which."""
    tag = Tag(installation="main", tenant="nlp", job="llama", submission=1, attempt=1, revision=3, nonce="0" * 26)
    spec = JobSpec(cluster="hpc2", run=Run(command=("true",)))
    pair = Floor(revision=3, nonce="0" * 26)
    call = StartCall(name=NAME, call=1, deadline_at=AT, pair=pair, tag=tag, spec=spec)
    with pytest.raises(OutcomeUnknownError, match="more than 256 characters"):
        await Answering(wire.Done(object=msgspec.structs.replace(REF, id=TOO_LONG))).start(call)


def test_the_sentence_of_an_error_is_cut() -> None:
    carried = wire.decode_reply(wire.encode(wire.failed(RefusedError("no " * 9000))))
    assert isinstance(carried, wire.Failed)
    assert str(wire.error_of(carried)) == ("no " * 9000)[:TEXT_MAX]
