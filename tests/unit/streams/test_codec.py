from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from streams import codec
from streams.errors import CodecError
from streams.messages.commands import CancelJob, SetControls, SubmitJob
from streams.messages.events import (
    ENVELOPE_VERSION,
    ControlsSet,
    Entry,
    Envelope,
    JobCancelled,
    Quarantined,
    UnknownEvent,
)
from streams.messages.plan import Backoff, FastFail, PlanAction, PlanRule, RecoveryPlan
from streams.messages.reasons import Reason, RefusalCode
from streams.messages.receipts import Answer, Receipt
from streams.messages.spec import SPEC_BYTES_MAX, JobSpec, Resources, Run

AT = datetime(2026, 11, 28, 21, 14, tzinfo=UTC)
SUBJECT = "dispatch.job.nlp.llama"
ENVELOPE: dict[str, Any] = {
    "id": "01kb5m5b40000000000000000a",
    "tenant": "nlp",
    "job": "llama",
    "expected": 7,
    "at": "2026-11-28T21:14:00Z",
    "by": "replica:sv-a",
    "reason": "person-cancel",
    "event": {"type": "JobCancelled"},
}
SUBMIT: dict[str, Any] = {
    "verb": "submit",
    "command": "c-8k2m",
    "tenant": "nlp",
    "job": "llama",
    "at": "2026-11-28T21:14:00Z",
    "spec": {"cluster": "hpc2", "run": {"command": ["python", "-u", "train.py"]}},
}
SUBMITTED_TO = "dispatch.command.nlp.ana.submit.llama"


def read(data: bytes, subject: str = SUBJECT) -> Entry:
    return codec.decode_event(subject, data, revision=8, stored_at=AT)


def content(**changes: Any) -> Envelope | Quarantined | UnknownEvent:
    """What the codec makes of an envelope with some fields changed; None leaves a field out."""
    fields = {key: value for key, value in {**ENVELOPE, **changes}.items() if value is not None}
    return read(json.dumps(fields).encode()).content


def why(**changes: Any) -> str:
    found = content(**changes)
    assert isinstance(found, Quarantined)
    return found.why


def refusal(subject: str = SUBMITTED_TO, /, **changes: Any) -> CodecError:
    fields = {key: value for key, value in {**SUBMIT, **changes}.items() if value is not None}
    with pytest.raises(CodecError) as told:
        codec.decode_command(subject, json.dumps(fields).encode())
    assert "\n" not in str(told.value)
    return told.value


def test_an_envelope_is_read_with_its_place() -> None:
    entry = read(json.dumps(ENVELOPE).encode())
    assert (entry.tenant, entry.job, entry.revision, entry.stored_at) == ("nlp", "llama", 8, AT)
    assert isinstance(entry.content, Envelope)
    assert (entry.content.event, entry.content.reason) == (JobCancelled(), Reason.PERSON_CANCEL)


def test_a_field_that_a_later_release_added_is_ignored() -> None:
    assert content(colour="blue", event={"type": "JobCancelled", "mood": 3}) == content()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"7",
        b'"x"',
        b"{",
        b"{}",
        b"[" * 5000,
        b'{"a":' * 5000,
        b'{"id":"\xff"}',
    ],
    ids=lambda data: str(data[:12]),
)
def test_bytes_that_are_no_envelope_are_quarantined(data: bytes) -> None:
    assert isinstance(read(data).content, Quarantined)


@pytest.mark.parametrize("field", ["id", "tenant", "job", "expected", "at", "by", "event"])
def test_an_envelope_without_a_field_it_needs_is_quarantined(field: str) -> None:
    assert isinstance(content(**{field: None}), Quarantined)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tenant": "vision"}, "subject says otherwise"),
        ({"job": "bert"}, "subject says otherwise"),
        ({"at": "2026-11-28T21:14:00"}, "timezone"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "outside of the years 1970 to 2999"),
        ({"asked_at": "9999-12-31T23:59:59-14:00"}, "outside of the years 1970 to 2999"),
        ({"id": "short"}, "$.id"),
        ({"id": "01KB5M5B40000000000000000A"}, "$.id"),
        ({"expected": -1}, "no revision"),
        ({"expected": "7"}, "$.expected"),
        ({"v": 0}, "no envelope version 0"),
        ({"reason": None}, "decision without a reason"),
        ({"event": {"type": "CallReplied", "call": 1, "outcome": "done"}}, "evidence and has a reason"),
        ({"event": {"type": "ControlsSet"}}, "does not belong"),
        ({"event": {"type": "HoldLifted"}}, "no HoldLifted"),
        ({"note": "x" * 501}, "$.note"),
    ],
    ids=str,
)
def test_an_envelope_with_a_wrong_field_is_quarantined_and_says_why(changes: dict[str, Any], said: str) -> None:
    assert said in why(**changes)


def test_a_type_that_this_release_does_not_know_is_unknown() -> None:
    assert content(event={"type": "JobPaused", "until": 7}) == UnknownEvent(type="JobPaused")


def test_a_value_that_a_later_release_added_to_an_enum_is_unknown_not_rubbish() -> None:
    assert content(reason="full-moon") == UnknownEvent(type="JobCancelled")


def test_a_higher_version_of_the_envelope_is_unknown_whatever_else_it_holds() -> None:
    higher = ENVELOPE_VERSION + 1
    assert content(v=higher) == UnknownEvent(type="JobCancelled", v=higher)
    assert content(v=higher, id=None, at=None, expected="r7") == UnknownEvent(type="JobCancelled", v=higher)


def test_an_unknown_type_for_another_job_is_rubbish_here() -> None:
    assert "subject says otherwise" in why(event={"type": "JobPaused"}, job="bert")


def test_controls_stand_on_their_own_subject_alone() -> None:
    fields = {**ENVELOPE, "job": "_controls", "reason": "person-controls", "event": {"type": "ControlsSet"}}
    entry = read(json.dumps(fields).encode(), "dispatch.job.nlp._controls")
    assert isinstance(entry.content, Envelope)
    assert entry.content.event == ControlsSet()
    cancelled = {**fields, "event": {"type": "JobCancelled"}}
    assert isinstance(read(json.dumps(cancelled).encode(), "dispatch.job.nlp._controls").content, Quarantined)


def test_a_subject_that_is_none_of_ours_is_quarantined_in_its_place() -> None:
    entry = read(json.dumps(ENVELOPE).encode(), "dispatch.job.NLP.llama")
    assert (entry.tenant, entry.job) == ("NLP", "llama")
    assert isinstance(entry.content, Quarantined)


def test_an_event_that_would_be_quarantined_is_not_written() -> None:
    event = Envelope(
        id="01kb5m5b40000000000000000a",
        tenant="nlp",
        job="llama",
        expected=0,
        at=AT,
        by="replica:sv-a",
        reason=Reason.PERSON_CANCEL,
        event=JobCancelled(),
    )
    assert read(codec.encode_event(event)).content == event
    for wrong in (
        {"id": "x"},
        {"tenant": "a.b"},
        {"job": "*"},
        {"expected": -1},
        {"reason": None},
        {"at": AT.replace(tzinfo=None)},
        {"note": "x" * 501},
        {"v": 2},
        {"event": ControlsSet()},
    ):
        with pytest.raises(CodecError, match="was not written"):
            codec.encode_event(msgspec.structs.replace(event, **wrong))


def test_a_command_is_read() -> None:
    command = codec.decode_command(SUBMITTED_TO, json.dumps({**SUBMIT, "colour": "blue"}).encode())
    assert isinstance(command, SubmitJob)
    assert (command.command, command.spec.run.command) == ("c-8k2m", ("python", "-u", "train.py"))
    assert codec.decode_command(SUBMITTED_TO, codec.encode_command(command)) == command


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"tenant": "vision"}, RefusalCode.SUBJECT_DIFFERS, "the body says vision submit llama"),
        ({"job": "bert"}, RefusalCode.SUBJECT_DIFFERS, "the subject says nlp submit llama"),
        ({"verb": "cancel"}, RefusalCode.SUBJECT_DIFFERS, "the body says nlp cancel llama"),
        ({"verb": "explode"}, RefusalCode.MALFORMED, "$.verb"),
        ({"verb": None}, RefusalCode.MALFORMED, "verb"),
        ({"spec": None}, RefusalCode.MALFORMED, "spec"),
        ({"at": "2026-11-28T21:14:00"}, RefusalCode.MALFORMED, "$.at"),
        ({"at": "0001-01-01T00:00:00Z"}, RefusalCode.MALFORMED, "at must be when it was asked"),
        ({"at": "9999-12-31T23:59:59-14:00"}, RefusalCode.MALFORMED, "in the years 1970 to 2999"),
        ({"spec": {"cluster": "hpc2", "run": {}}}, RefusalCode.INVALID_SPEC, "spec.run: give exactly one"),
        (
            {"spec": {"cluster": "hpc2", "run": {"script": "x"}, "env": {"DISPATCH_X": ""}}},
            RefusalCode.INVALID_SPEC,
            "env",
        ),
        ({"spec": {"cluster": "hpc2", "run": {"script": "x"}, "nodes": 0}}, RefusalCode.MALFORMED, "$.spec.nodes"),
        (
            {"plan": {"rules": [{"name": "a", "on": ["preempted"], "do": "resubmit"}]}},
            RefusalCode.INVALID_SPEC,
            "plan.rules[0].budget: resubmit needs a budget",
        ),
    ],
    ids=str,
)
def test_a_command_that_is_wrong_is_refused_in_one_sentence_for_its_receipt(
    changes: dict[str, Any], code: RefusalCode, said: str
) -> None:
    refused = refusal(**changes)
    assert (refused.code, refused.command) == (code, "c-8k2m")
    assert said in str(refused)


def test_every_fault_of_a_spec_is_counted() -> None:
    spec = {"cluster": "hpc2", "run": {}, "hold": "", "output": "x"}
    assert str(refusal(spec=spec)).endswith("(and 3 more)")


def test_a_command_without_a_usable_id_names_none() -> None:
    assert refusal(command=None).command is None
    assert refusal(command="Not A Token").command is None
    assert refusal(command="seq-17").command is None
    with pytest.raises(CodecError) as told:
        codec.decode_command(SUBMITTED_TO, b"not json")
    assert (told.value.code, told.value.command) == (RefusalCode.MALFORMED, None)


def test_a_verb_that_is_none_of_ours_is_named_as_such() -> None:
    refused = refusal("dispatch.command.nlp.ana.explode.llama")
    assert (refused.code, refused.command) == (RefusalCode.UNKNOWN_VERB, "c-8k2m")


def test_a_command_above_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(CodecError) as told:
        codec.decode_command(SUBMITTED_TO, b" " * (codec.COMMAND_BYTES_MAX + 1))
    assert told.value.code is RefusalCode.TOO_LARGE


def test_a_spec_above_the_limit_is_refused_with_its_size() -> None:
    spec = {"cluster": "hpc2", "run": {"command": ["x"]}, "slurm": {"options": {"mail-user": "y" * SPEC_BYTES_MAX}}}
    refused = refusal(spec=spec)
    assert (refused.code, refused.command) == (RefusalCode.TOO_LARGE, "c-8k2m")


@pytest.mark.parametrize(
    "subject",
    ["", "dispatch.command.nlp.ana.submit", "dispatch.command.nlp.ana.submit.llama.x", "dispatch.job.nlp.llama", "a.b"],
)
def test_a_command_on_a_subject_that_is_none_of_ours_is_refused(subject: str) -> None:
    assert refusal(subject).code is RefusalCode.MALFORMED


def test_controls_and_jobs_are_told_apart() -> None:
    on_controls = {"verb": "cancel", "job": "_controls", "spec": None}
    assert "control goes with job _controls" in str(refusal("dispatch.command.nlp.ana.cancel._controls", **on_controls))
    assert "control goes with job _controls" in str(
        refusal("dispatch.command.nlp.ana.control.llama", verb="control", spec=None)
    )
    command = SetControls(command="c-1", tenant="nlp", job="_controls", at=AT, observe=True)
    assert codec.decode_command("dispatch.command.nlp.ana.control._controls", codec.encode_command(command)) == command


def test_a_command_that_every_reader_would_refuse_is_not_written() -> None:
    for wrong in (
        CancelJob(command="c-1", tenant="nlp", job="No", at=AT),
        CancelJob(command="seq-1", tenant="nlp", job="llama", at=AT),
        CancelJob(command="c-1", tenant="nlp", job="_controls", at=AT),
        SubmitJob(command="c-1", tenant="nlp", job="llama", at=AT, spec=JobSpec(cluster="hpc2", run=Run())),
    ):
        with pytest.raises(CodecError):
            codec.encode_command(wrong)


def test_a_receipt_is_read_back_and_rubbish_is_not() -> None:
    receipt = Receipt(
        command="seq-17",
        tenant="nlp",
        job="llama",
        verb="submit",
        answer=Answer.MALFORMED,
        code=RefusalCode.MALFORMED,
        sentence="not a command",
        at=AT,
        by="replica:sv-a",
    )
    assert codec.decode_receipt(codec.encode_receipt(receipt)) == receipt
    with pytest.raises(CodecError):
        codec.decode_receipt(b"{}")
    with pytest.raises(CodecError):
        codec.encode_receipt(msgspec.structs.replace(receipt, tenant="No Token"))


def a_spec(**changes: Any) -> JobSpec:
    return msgspec.convert({**SUBMIT["spec"], **changes}, JobSpec)


def test_a_digest_is_of_the_meaning_not_of_the_spelling() -> None:
    plain = codec.digest_of(a_spec(), None)
    assert plain == codec.digest_of(a_spec(resources={}, nodes=1, env={}, labels={}, stop_grace=30), None)
    assert plain == codec.digest_of(a_spec(resources=Resources(cpus_per_rank=1)), None)
    one = a_spec(env={"A": "1", "B": "2"})
    other = a_spec(env={"B": "2", "A": "1"})
    assert codec.digest_of(one, None) == codec.digest_of(other, None)
    rule = PlanRule(name="a", on=("preempted",), do=PlanAction.RESUBMIT, budget=3)
    spelled = msgspec.structs.replace(rule, backoff=Backoff(first=30, factor=2, max=900))
    assert codec.digest_of(a_spec(), RecoveryPlan(rules=(rule,))) == codec.digest_of(
        a_spec(), RecoveryPlan(rules=(spelled,), fast_fail=FastFail())
    )


def test_whatever_differs_in_meaning_has_another_digest() -> None:
    digests = {
        codec.digest_of(a_spec(), None),
        codec.digest_of(a_spec(), RecoveryPlan()),
        codec.digest_of(a_spec(nodes=2), None),
        codec.digest_of(a_spec(env={"A": "1"}), None),
        codec.digest_of(a_spec(env={"A": ""}), None),
        codec.digest_of(a_spec(run={"command": ["python", "-u train.py"]}), None),
        codec.digest_of(a_spec(hold="later"), None),
    }
    assert len(digests) == 7


def test_a_digest_does_not_change_between_releases() -> None:
    assert codec.digest_of(a_spec(), None) == "7564b46642aebb5edc870625c79e0bbd41c3283c5e6bb5c18d7f484c6fdf756e"
    plan = RecoveryPlan(rules=(PlanRule(name="a", on=("any",), do=PlanAction.GIVE_UP),))
    assert (
        codec.digest_of(a_spec(nodes=8, env={"A": "ö"}), plan)
        == "8debe28b4ec09748cddc5ed484b30c1ac00d9e5ba98d39957bdd3bb716f6d127"
    )
