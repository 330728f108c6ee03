"""Commands off the bus: decide at the revision read, append, write the receipt, wake the job, acknowledge.

In that order, so that a replica killed anywhere leaves a command that is decided again, and known by its id.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from adapters.errors import UnreachableError
from adapters.port import Adapter
from dispatch.act import Asked, Hands
from dispatch.act import decide as append
from dispatch.decide import Already, Decided, Facts, Refused, decide
from dispatch.decide.answers import Answered
from projections import receipt as receipts
from projections.controls import Controls, fold_controls
from projections.evolve import empty, fold
from projections.record import Record
from streams import codec, subjects
from streams.errors import CodecError, ConflictError, RegressionError, StreamError, TooLargeError
from streams.messages.calls import JobName
from streams.messages.commands import AttestNodeOff, CancelJob, Command, Dispose, SetControls, SubmitJob
from streams.messages.reasons import RefusalCode
from streams.messages.receipts import TAKEN, Receipt
from streams.messages.values import Found
from streams.ports import Buckets, Delivery

TRIES_MAX = 50
LOOK_AGAIN = timedelta(seconds=5)
TOO_LARGE = "this would be larger than one event on the bus may be, and nothing changed: ask for less at once ({0})"
WakeAt = Callable[[str, str, datetime], Awaitable[None]]
FAULT = "a fault in dispatch kept this command from being decided ({0}): report it, and send it again after an upgrade"

log = structlog.get_logger("dispatch.commands")


async def handle(hands: Hands, buckets: Buckets, delivery: Delivery, wake_at: WakeAt | None = None) -> Receipt | None:
    """Answer one command; the receipt written, None where no tenant can be told.

    `wake_at` sets a job's timer: a new job has one from its first event on.
    Raises what the bus raises: then the command is not acknowledged and comes back.
    """
    try:
        address = subjects.parse_command(delivery.subject)
        command = codec.decode_command(delivery.subject, delivery.data)
    except (CodecError, ValueError) as error:
        return await _malformed(hands, buckets, delivery, error)
    try:
        answered, record = await _answer(hands, command, address.actor)
    except StreamError:
        raise
    except Exception as error:  # any: a command that meets a fault of ours must not keep its shard from the others
        log.exception("a command failed", tenant=command.tenant, job=command.job, command=command.command)
        fault = CodecError(FAULT.format(type(error).__name__), command=command.command)
        return await _malformed(hands, buckets, delivery, fault)
    receipt = receipt_of(hands, record, command, answered)
    await buckets.put_receipt(receipt)
    log.info(
        "command",
        tenant=command.tenant,
        job=command.job,
        verb=address.verb,
        command=command.command,
        answer=receipt.answer.value,
        revision=receipt.revision,
    )
    if isinstance(answered, Decided | Already) and command.job != subjects.CONTROLS:
        if wake_at is not None and record.number == 1:
            # The look that is woken may read a copy that has nothing of the job yet, and sets no timer then. Set first,
            # so that the timer of a look that found it stands.
            await wake_at(command.tenant, command.job, hands.clock() + LOOK_AGAIN)
        await hands.wake(command.tenant, command.job)
    await delivery.ack()
    return receipt


async def _answer(hands: Hands, command: Command, actor: str) -> tuple[Answered, Record]:
    """Decide, and append what was decided; a conflict means to read and decide again (L5).

    No append proves a refusal, so it is given only from a read that the store's leader does not know to be stale.
    """
    asked = Asked(command.command, actor, command.on_behalf_of or None, command.note or None, command.at)
    record, controls = empty(command.tenant, command.job), Controls()
    for _ in range(TRIES_MAX):
        entries = await hands.history.read(command.tenant, command.job, after=record.revision)
        record = fold(record, entries)
        if isinstance(command, SetControls):  # the values written whole come from the read that guards their append
            controls = fold_controls(controls, entries)
        facts = await _facts(hands, record, controls, command, actor)
        answered = decide(record, command, facts)
        if isinstance(answered, Refused) and await _is_stale(hands, record):
            continue
        if not isinstance(answered, Decided):
            return answered, record
        try:
            return answered, await append(hands, record, answered.event, answered.reason, asked)
        except ConflictError:
            continue
        except RegressionError:
            record, controls = empty(command.tenant, command.job), Controls()
        except TooLargeError as error:  # to decide it again helps nobody, and would keep its shard from the others
            return Refused(RefusalCode.TOO_LARGE, TOO_LARGE.format(error)), record
    raise ConflictError(subjects.job(command.tenant, command.job), record.revision, None)


async def _is_stale(hands: Hands, record: Record) -> bool:
    return record.revision < await hands.history.last_revision(record.tenant, record.job)


async def _facts(hands: Hands, record: Record, controls: Controls, command: Command, actor: str) -> Facts:
    now = hands.clock()
    if isinstance(command, CancelJob):
        return Facts(now=now, actor=actor)
    if isinstance(command, SetControls):
        return Facts(now=now, actor=actor, controls=controls)
    cluster = command.spec.cluster if isinstance(command, SubmitJob) else record.spec and record.spec.cluster
    adapter = hands.adapter_of(cluster) if cluster else None
    if adapter is None:
        return Facts(now=now, actor=actor)
    try:
        able = await adapter.capabilities()
    except UnreachableError as error:
        log.warning("cluster does not answer", cluster=cluster, why=str(error))
        return Facts(now=now, actor=actor)
    found = await _find(hands, adapter, command) if isinstance(command, Dispose | AttestNodeOff) else None
    return Facts(now=now, actor=actor, capabilities=able, found=found)


async def _find(hands: Hands, adapter: Adapter, command: Command) -> Found | None:
    """What the cluster shows right now, or None: what needs to know it is then refused."""
    try:
        return await adapter.find(JobName(installation=hands.installation, tenant=command.tenant, job=command.job))
    except UnreachableError as error:
        log.warning("cluster does not answer", job=command.job, why=str(error))
        return None


async def read_controls(hands: Hands, tenant: str, held: Controls | None = None) -> Controls:
    """The tenant's controls now, from those held earlier."""
    controls = held or Controls()
    entries = await hands.history.read(tenant, subjects.CONTROLS, after=controls.revision)
    return fold_controls(controls, entries)


def receipt_of(hands: Hands, record: Record, command: Command, answered: Answered) -> Receipt:
    """What the publisher is told of its command."""
    to = receipts.Addressed(command.command, command.tenant, command.job, codec.verb_of(command))
    written = receipts.Written(hands.clock(), hands.by)
    match answered:
        case Refused(code, sentence, revision):
            return receipts.refused(to, code, sentence, written, revision=revision)
        case Already(revision, _):
            return receipts.already(record, revision, to, written)
        case Decided():
            told = receipts.receipt(record, command.command, written)
            return told or receipts.already(record, record.revision, to, written)


async def _malformed(hands: Hands, buckets: Buckets, delivery: Delivery, error: Exception) -> Receipt | None:
    """A command that cannot be read gets a receipt too, under its id or its sequence; nothing else changes.

    Under its sequence too where another was taken under its id: bytes that nobody can read tell nothing of that one.
    """
    code = getattr(error, "code", None) or RefusalCode.MALFORMED
    known = getattr(error, "command", None)
    log.warning("malformed command", subject=delivery.subject, sequence=delivery.sequence, why=str(error))
    try:
        address = subjects.parse_command(delivery.subject)
    except ValueError:
        # No tenant can be told of it: the subject itself is not ours.
        await delivery.ack()
        return None
    held = await buckets.get_receipt(address.tenant, known) if known else None
    if held is not None and held.answer in TAKEN:
        known = None
    to = receipts.Addressed(known or f"seq-{delivery.sequence}", address.tenant, address.job, address.verb)
    receipt = receipts.malformed(to, code, str(error), receipts.Written(hands.clock(), hands.by))
    await buckets.put_receipt(receipt)
    await delivery.ack()
    return receipt
