from __future__ import annotations

import json
import string
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams import codec, subjects
from streams.errors import CodecError
from streams.messages.commands import Command
from streams.messages.event_ids import event_id
from streams.messages.events import ControlsSet, Decision, Entry, Envelope, Event, Quarantined, UnknownEvent
from streams.messages.plan import PlanRule, RecoveryPlan
from streams.messages.reasons import Reason
from streams.messages.receipts import Receipt
from streams.messages.spec import JobSpec, Run

AT = datetime(2026, 11, 28, 21, 14, tzinfo=UTC)

names = st.from_regex(r"\A[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?\Z")
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.datetimes(datetime(1971, 1, 1), datetime(2900, 1, 1), timezones=zones)  # noqa: DTZ001 - the zone is drawn
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
words = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=12).map(lambda text: f"A{text}")
ids = st.builds(event_id, instants, st.binary(min_size=10, max_size=10))


def values(kind: msgspec.inspect.Type) -> st.SearchStrategy[Any]:
    """Every value of a message's type, limits and patterns kept."""
    match kind:
        case msgspec.inspect.StructType():
            return structs(kind.cls)
        case msgspec.inspect.UnionType():
            return st.one_of([values(member) for member in kind.types])
        case msgspec.inspect.EnumType():
            return st.sampled_from(list(kind.cls))
        case msgspec.inspect.StrType():
            return _strings(kind)
        case msgspec.inspect.IntType():
            low = kind.ge if kind.ge is not None else -(2**53)
            return st.integers(low, kind.le if kind.le is not None else 2**53)
        case msgspec.inspect.FloatType():
            return st.floats(kind.ge, kind.le, allow_nan=False)
        case msgspec.inspect.BoolType():
            return st.booleans()
        case msgspec.inspect.NoneType():
            return st.none()
        case msgspec.inspect.DateTimeType():
            return instants
        case msgspec.inspect.VarTupleType():
            return st.lists(values(kind.item_type), max_size=min(3, kind.max_length or 3)).map(tuple)
        case msgspec.inspect.DictType():
            return st.dictionaries(values(kind.key_type), values(kind.value_type), max_size=3)
        case _:
            raise AssertionError(f"no strategy for {kind}")


def _strings(kind: msgspec.inspect.StrType) -> st.SearchStrategy[str]:
    if kind.pattern is None:
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=min(40, kind.max_length or 40))
    if "{26}" in kind.pattern:
        return ids
    if "DISPATCH_" in kind.pattern:
        return words
    if "plain" in kind.pattern:
        return st.sampled_from(["plain", "kueue"])
    return names


def structs(cls: type[Any]) -> st.SearchStrategy[Any]:
    """Every value of a struct; fields that may be left out are, now and then."""
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    info = msgspec.inspect.type_info(cls)
    assert isinstance(info, msgspec.inspect.StructType)
    for field in info.fields:
        (required if field.required else optional)[field.name] = values(field.type)
    return st.fixed_dictionaries(required, optional=optional).map(lambda found: cls(**found))


def unions(union: Any) -> st.SearchStrategy[Any]:
    return values(msgspec.inspect.type_info(union))


events = unions(Event)
commands = unions(Command)


@st.composite
def envelopes(draw: st.DrawFn) -> Envelope:
    event = draw(events)
    decision = isinstance(event, Decision)
    return Envelope(
        id=draw(ids),
        tenant=draw(names),
        job=subjects.CONTROLS if isinstance(event, ControlsSet) else draw(names),
        expected=draw(st.integers(0, 2**53)),
        at=draw(instants),
        by=draw(texts),
        event=event,
        reason=draw(st.sampled_from(Reason)) if decision else None,
        command=draw(st.none() | names),
        actor=draw(st.none() | names),
        on_behalf_of=draw(st.none() | texts),
        note=draw(st.none() | texts),
        asked_at=draw(st.none() | instants),
    )


def read(envelope: Envelope, data: bytes) -> Entry:
    return codec.decode_event(subjects.job(envelope.tenant, envelope.job), data, revision=1, stored_at=AT)


@given(envelopes())
def test_every_event_is_read_back_as_it_was_written(envelope: Envelope) -> None:
    assert read(envelope, codec.encode_event(envelope)).content == envelope


@given(
    envelopes(), st.dictionaries(st.text(max_size=5).map(lambda name: f"x{name}"), st.integers() | texts, max_size=3)
)
def test_unknown_fields_change_nothing(envelope: Envelope, more: dict[str, Any]) -> None:
    fields_of = json.loads(codec.encode_event(envelope))
    event = {**fields_of["event"], **{f"x{name}": value for name, value in more.items()}}
    data = json.dumps({**fields_of, **more, "event": event}).encode()
    assert read(envelope, data).content == envelope


@given(envelopes(), names)
def test_an_envelope_on_another_subject_is_never_taken_for_that_subjects_own(envelope: Envelope, other: str) -> None:
    data = codec.encode_event(envelope)
    for tenant, job in ((other, envelope.job), (envelope.tenant, other)):
        if (tenant, job) != (envelope.tenant, envelope.job):
            entry = codec.decode_event(subjects.job(tenant, job), data, revision=1, stored_at=AT)
            assert isinstance(entry.content, Quarantined)


@given(envelopes(), st.data())
def test_damaged_bytes_are_told_or_harmless_and_never_raise(envelope: Envelope, data: st.DataObject) -> None:
    written = bytearray(codec.encode_event(envelope))
    for _ in range(data.draw(st.integers(1, 4))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    content = read(envelope, bytes(written)).content
    assert isinstance(content, Envelope | Quarantined | UnknownEvent)
    if isinstance(content, Envelope):
        assert (content.tenant, content.job) == (envelope.tenant, envelope.job)


@given(st.binary(max_size=400), st.text(max_size=60))
def test_no_bytes_and_no_subject_raise(data: bytes, subject: str) -> None:
    for place in (subject, f"dispatch.job.{subject}", "dispatch.job.nlp.llama"):
        entry = codec.decode_event(place, data, revision=1, stored_at=AT)
        assert not isinstance(entry.content, Envelope)
    with pytest.raises(CodecError):
        codec.decode_command(f"dispatch.command.{subject}", data)


@given(commands)
def test_a_command_is_written_only_if_it_is_read_back(command: Any) -> None:
    try:
        data = codec.encode_command(command)
    except CodecError:
        return
    subject = subjects.command(command.tenant, "ana", codec.verb_of(command), command.job)
    assert codec.decode_command(subject, data) == command


@given(structs(Receipt))
def test_every_receipt_is_read_back_as_it_was_written(receipt: Receipt) -> None:
    assert codec.decode_receipt(codec.encode_receipt(receipt)) == receipt


@given(commands)
def test_a_digest_survives_the_way_over_the_bus(command: Any) -> None:
    if codec.verb_of(command) != "submit":
        return
    again = msgspec.json.decode(msgspec.json.encode(command), type=type(command))
    assert codec.digest_of(again.spec, again.plan) == codec.digest_of(command.spec, command.plan)


@given(structs(PlanRule), structs(PlanRule))
def test_equal_rules_and_only_they_have_equal_digests(one: PlanRule, other: PlanRule) -> None:
    spec = JobSpec(cluster="hpc2", run=Run(script="x"))
    digests = [codec.digest_of(spec, RecoveryPlan(rules=(rule,))) for rule in (one, other)]
    assert (digests[0] == digests[1]) == (one == other)
