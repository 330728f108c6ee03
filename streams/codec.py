"""The only place that checks bytes: events, commands and receipts, to and from deterministic JSON.

Reading an event never raises: what cannot be read becomes `Quarantined`, what a later release wrote becomes
`UnknownEvent` (L15). Writing refuses whatever reading would not give back. Everything else raises CodecError.
"""

from __future__ import annotations

import functools
import hashlib
import re
from datetime import datetime
from typing import Any, get_args

import msgspec

from streams import subjects
from streams.errors import CodecError
from streams.messages.checks import brief, spec_faults
from streams.messages.commands import VERBS, Command, SetControls, SubmitJob
from streams.messages.events import (
    ENVELOPE_VERSION,
    ControlsSet,
    Decision,
    Entry,
    Envelope,
    Event,
    Quarantined,
    UnknownEvent,
)
from streams.messages.plan import RecoveryPlan
from streams.messages.reasons import RefusalCode
from streams.messages.receipts import Receipt
from streams.messages.spec import RESERVED_PREFIX, SPEC_BYTES_MAX, JobSpec

COMMAND_BYTES_MAX = SPEC_BYTES_MAX + 128 * 1024
SUBJECTS_KEPT = 4096
TYPE_MAX = 80
YEARS = range(1970, 3000)
EVENT_TYPES = frozenset(event.__name__ for event in get_args(Event))
ENV_NAMES = (
    "spec.env: a name is of letters, digits and _, "
    f"and names that begin with {RESERVED_PREFIX} are reserved; choose another"
)

_RESERVED_NAME = f"(?!{RESERVED_PREFIX})"  # of the pattern that msgspec quotes
_SEQUENCE_ID = re.compile(r"seq-[0-9]+\Z")
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_encoder = msgspec.json.Encoder(order="deterministic")
_envelopes = msgspec.json.Decoder(Envelope)
_commands = msgspec.json.Decoder(Command)
_receipts = msgspec.json.Decoder(Receipt)


class _EventOutline(msgspec.Struct, frozen=True, kw_only=True):
    type: str


class _EnvelopeOutline(msgspec.Struct, frozen=True, kw_only=True):
    """What every version of the envelope keeps, so that a later one is told from rubbish."""

    tenant: str
    job: str
    event: _EventOutline
    v: int = ENVELOPE_VERSION


class _CommandOutline(msgspec.Struct, frozen=True, kw_only=True):
    command: str


_outlines = msgspec.json.Decoder(_EnvelopeOutline)
_command_outlines = msgspec.json.Decoder(_CommandOutline)


def encode_event(envelope: Envelope) -> bytes:
    """The bytes of one event. Raises CodecError if they would not be read back as the same envelope."""
    data = _encoder.encode(envelope)
    try:
        subjects.job(envelope.tenant, envelope.job)
    except ValueError as error:
        raise CodecError(f"an event of {envelope.tenant}.{envelope.job} was not written: {error}") from error
    read = _read_event(envelope.tenant, envelope.job, data)
    if read != envelope:
        why = read.why if isinstance(read, Quarantined) else "it would not be read back as it is"
        raise CodecError(f"an event of {envelope.tenant}.{envelope.job} was not written: {why}")
    return data


def decode_event(subject: str, data: bytes, *, revision: int, stored_at: datetime) -> Entry:
    """One stored message of a job's subject. Never raises for what the bytes or the subject hold."""
    tenant, job, fault = _job_of(subject)
    content = Quarantined(why=fault) if fault else _read_event(tenant, job, data)
    return Entry(tenant=tenant, job=job, revision=revision, stored_at=stored_at, content=content)


@functools.lru_cache(maxsize=SUBJECTS_KEPT)
def _job_of(subject: str) -> tuple[str, str, str]:
    """Tenant and job of an event's subject, and what is wrong with it or ""; kept, since events share subjects."""
    try:
        return (*subjects.parse_job(subject), "")
    except ValueError as error:
        *_, tenant, job = ("", "", *subject.split("."))
        return tenant, job, str(error)


def encode_command(command: Command) -> bytes:
    """The bytes of one command. Raises CodecError for what every reader would refuse."""
    data = _encoder.encode(command)
    verb = str(type(command).__struct_config__.tag)
    try:
        subject = subjects.command(command.tenant, "any", verb, command.job)
    except ValueError as error:
        raise CodecError(str(error)) from error
    if decode_command(subject, data) != command:
        raise CodecError(f"command {command.command} would not be read back as it is", command=command.command)
    return data


def verb_of(command: Command) -> str:
    """The verb that stands in the subject of `command`."""
    return str(type(command).__struct_config__.tag)


def decode_command(subject: str, data: bytes) -> Command:
    """The command that was published to `subject`. Raises CodecError with one sentence for the sender.

    Who receives it writes a `malformed` or `refused` receipt from the error's code, and acknowledges.
    """
    try:
        address = subjects.parse_command(subject)
    except ValueError as error:
        raise CodecError(str(error)) from error
    if len(data) > COMMAND_BYTES_MAX:
        raise CodecError(
            f"the command is {len(data)} bytes, the most is {COMMAND_BYTES_MAX}; read large input from a file",
            code=RefusalCode.TOO_LARGE,
        )
    if address.verb not in VERBS:
        raise CodecError(
            f"verb {address.verb[:40]!r} must be one of {', '.join(VERBS)}",
            code=RefusalCode.UNKNOWN_VERB,
            command=_command_id(data),
        )
    try:
        command = _commands.decode(data)
    except _UNREADABLE as error:
        if _RESERVED_NAME in str(error):
            raise CodecError(ENV_NAMES, code=RefusalCode.INVALID_SPEC, command=_command_id(data)) from error
        raise CodecError(f"not a command: {brief(str(error))}", command=_command_id(data)) from error
    _check_command(address, command)
    return command


def encode_receipt(receipt: Receipt) -> bytes:
    """The bytes of one receipt. Raises CodecError if they would not be read back as the same receipt."""
    data = _encoder.encode(receipt)
    if decode_receipt(data) != receipt:
        raise CodecError(f"the receipt of {receipt.command} would not be read back as it is")
    return data


def decode_receipt(data: bytes) -> Receipt:
    """One receipt; CodecError if the bytes hold none."""
    try:
        return _receipts.decode(data)
    except _UNREADABLE as error:
        raise CodecError(f"not a receipt: {brief(str(error))}") from error


def digest_of(spec: JobSpec, plan: RecoveryPlan | None) -> str:
    """SHA-256, in hex, of what a person asked for; equal for equal meaning, however it was spelled.

    A field that equals its default counts as left off, so a field added by a later release changes no digest.
    """
    return hashlib.sha256(_encoder.encode([_essence(spec), _essence(plan)])).hexdigest()


def _read_event(tenant: str, job: str, data: bytes) -> Envelope | Quarantined | UnknownEvent:
    try:
        envelope = _envelopes.decode(data)
    except _UNREADABLE as error:
        return _read_outline(tenant, job, data, error)
    if envelope.v > ENVELOPE_VERSION:
        return UnknownEvent(type=type(envelope.event).__name__, v=envelope.v)
    why = _event_fault(tenant, job, envelope)
    return Quarantined(why=why) if why else envelope


def _read_outline(tenant: str, job: str, data: bytes, error: Exception) -> Quarantined | UnknownEvent:
    """Tell what a later release wrote (a type, a version, an enum's value) from rubbish."""
    try:
        outline = _outlines.decode(data)
    except _UNREADABLE:
        return Quarantined(why=f"no envelope: {brief(str(error))}")
    if (outline.tenant, outline.job) != (tenant, job):
        return Quarantined(why=_differs(outline.tenant, outline.job))
    later = outline.v > ENVELOPE_VERSION or outline.event.type not in EVENT_TYPES
    if later or str(error).startswith("Invalid enum value"):
        return UnknownEvent(type=outline.event.type[:TYPE_MAX], v=outline.v)
    return Quarantined(why=f"no {outline.event.type}: {brief(str(error))}")


def _event_fault(tenant: str, job: str, envelope: Envelope) -> str:
    if envelope.v < ENVELOPE_VERSION:
        return f"there is no envelope version {envelope.v}"
    if (envelope.tenant, envelope.job) != (tenant, job):
        return _differs(envelope.tenant, envelope.job)
    if isinstance(envelope.event, ControlsSet) != (job == subjects.CONTROLS):
        return f"{type(envelope.event).__name__} does not belong on the subject of {job}"
    if isinstance(envelope.event, Decision) != (envelope.reason is not None):
        wrong = "evidence and has a reason" if envelope.reason is not None else "a decision without a reason"
        return f"{type(envelope.event).__name__} is {wrong}"
    if not (_is_plausible(envelope.at) and _is_plausible(envelope.asked_at)):
        return f"its time is outside of the years {YEARS.start} to {YEARS.stop - 1}"
    return "" if envelope.expected >= 0 else f"{envelope.expected} is no revision"


def _is_plausible(moment: datetime | None) -> bool:
    """Whether any time zone can show it, and any deadline be counted from it."""
    return moment is None or moment.year in YEARS


def _differs(tenant: str, job: str) -> str:
    return f"the body says tenant {tenant[:80]!r} and job {job[:80]!r}, the subject says otherwise"


def _command_id(data: bytes) -> str | None:
    """The sender's id, if the bytes hold a valid one in spite of what else is wrong."""
    try:
        name = _command_outlines.decode(data).command
    except _UNREADABLE:
        return None
    return name if subjects.is_token(name) and not _SEQUENCE_ID.match(name) else None


def _check_command(address: subjects.CommandAddress, command: Command) -> None:
    if _SEQUENCE_ID.match(command.command):
        raise CodecError("a command's id may not be seq- and a number; those name commands that have no id")
    if not _is_plausible(command.at):
        raise CodecError(
            f"at must be when it was asked, in the years {YEARS.start} to {YEARS.stop - 1}, not {command.at.isoformat()}",
            command=command.command,
        )
    said = (command.tenant, verb_of(command), command.job)
    if said != (address.tenant, address.verb, address.job):
        raise CodecError(
            f"the body says {' '.join(word[:63] for word in said)}, "
            f"the subject says {address.tenant} {address.verb} {address.job}",
            code=RefusalCode.SUBJECT_DIFFERS,
            command=command.command,
        )
    if isinstance(command, SetControls) != (command.job == subjects.CONTROLS):
        raise CodecError(
            f"control goes with job {subjects.CONTROLS}, every other verb with a job's name", command=command.command
        )
    if isinstance(command, SubmitJob):
        _check_submit(command)


def _check_submit(command: SubmitJob) -> None:
    faults = spec_faults(command.spec, command.plan)
    if not faults:
        return
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    too_large = any(fault.path == "" for fault in faults)
    raise CodecError(
        brief(f"{faults[0].wire_path}: {faults[0].sentence}") + more,
        code=RefusalCode.TOO_LARGE if too_large else RefusalCode.INVALID_SPEC,
        command=command.command,
    )


def _essence(value: Any) -> Any:  # noqa: ANN401 - any field of any message
    """`value` as plain data, without the fields that equal their default."""
    if isinstance(value, msgspec.Struct):
        return {
            field.encode_name: _essence(getattr(value, field.name))
            for field in _fields(type(value))
            if field.required or getattr(value, field.name) != _default_of(field)
        }
    if isinstance(value, dict):
        return {key: _essence(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_essence(item) for item in value]
    return value


@functools.cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Asked of the annotations once a type: that takes milliseconds, and a submission holds many messages."""
    return msgspec.structs.fields(kind)


def _default_of(field: msgspec.structs.FieldInfo) -> Any:  # noqa: ANN401 - any field of any message
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
