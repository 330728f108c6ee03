"""One pass over one job: read the record, then Find, then decide; append, and act. Keeps nothing (L11).

Imports no event loop: everything it waits for is a port's answer, so that a simulator can park it, or crash it,
at any await.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from adapters.errors import UnreachableError
from adapters.port import Adapter, ProvesCessation
from dispatch import evidence
from dispatch.act import Hands, decide, perform, witness
from dispatch.due import due_at
from dispatch.next_steps import next_steps
from dispatch.situation import Situation
from projections import regression
from projections.controls import Controls
from projections.evolve import empty, fold
from projections.record import Record
from streams.errors import ConflictError, RegressionError, TooLargeError
from streams.messages.calls import Capabilities, Cessation, JobName
from streams.messages.events import AttemptCommitted, CallCommitted, CessationSeen, JobSettled
from streams.messages.reasons import Reason
from streams.messages.values import Found, ObjectRef, Verb

STEPS_MAX = 64


class Result(StrEnum):
    """How a pass ended."""

    QUIET = "quiet"
    ACTED = "acted"
    MOVED = "moved"
    UNREACHABLE = "unreachable"
    REGRESSED = "regressed"
    STRANGE = "strange"
    NO_ADAPTER = "no-adapter"
    UNKNOWN_JOB = "unknown-job"


class Pass(NamedTuple):
    """What a pass leaves behind, for status and the next timer; nothing of it is needed to carry on."""

    result: Result
    record: Record
    found: Found | None = None
    capabilities: Capabilities | None = None
    due_at: datetime | None = None
    why: str = ""


async def run_pass(hands: Hands, held: Record, controls: Controls) -> Pass:
    """One pass from a record held at any earlier revision (`evolve.empty` to begin with).

    Raises what the bus raises, UndecidedError and WrongStreamError included: then nothing more was sent than the
    history says. A conflict, a regression and an event too large for the bus are results, not errors.
    """
    record = fold(held, await hands.history.read(held.tenant, held.job, after=held.revision))
    try:
        return await _pass(hands, record, controls)
    except ConflictError:
        return Pass(Result.MOVED, record, due_at=hands.clock())
    except RegressionError as error:
        # What was held may be newer than the store: begin again from nothing, and let the objects' tags judge.
        return Pass(Result.REGRESSED, empty(held.tenant, held.job), why=str(error))
    except TooLargeError as error:
        # As good as no answer: it grew out of what the cluster shows of this job, and no other job is to wait for it.
        return Pass(Result.UNREACHABLE, record, why=f"what the cluster shows cannot be kept: {error}")


async def _pass(hands: Hands, record: Record, controls: Controls) -> Pass:
    if record.empty:
        return Pass(Result.UNKNOWN_JOB, record)
    if record.spec is None:
        return await _settle_unknown(hands, record)
    adapter = hands.adapter_of(record.spec.cluster)
    if adapter is None:
        return Pass(Result.NO_ADAPTER, record, why=f"no adapter serves cluster {record.spec.cluster}")
    name = JobName(installation=hands.installation, tenant=record.tenant, job=record.job)
    asked_at = hands.clock()
    read_revision = record.revision
    try:
        able = await adapter.capabilities()
        found = await adapter.find(name)
    except UnreachableError as error:
        return Pass(Result.UNREACHABLE, record, why=str(error))
    record, moved = await witness(
        hands, record, lambda now: evidence.objects_seen(now, found, read_revision, hands.clock())
    )
    record, also_moved = await _prove(hands, adapter, record, _Look(name, found, able, read_revision))
    if moved or also_moved:
        return Pass(Result.MOVED, record, found, able, due_at=hands.clock())
    why = regression.regressed(record, found, hands.installation)
    if why is not None:
        return await _regressed(hands, record, found, able, why)
    if record.strange:
        return Pass(Result.STRANGE, record, found, able, why=record.strange[0].text)
    situation = Situation(
        record=record,
        found=found,
        capabilities=able,
        controls=controls,
        installation=hands.installation,
        asked_at=asked_at,
        now=hands.clock(),
    )
    return await _decide(hands, situation)


class _Look(NamedTuple):
    name: JobName
    found: Found
    able: Capabilities
    read_revision: int


async def _settle_unknown(hands: Hands, record: Record) -> Pass:
    """A cancel of a name never seen: no cluster, no object, settled at once."""
    if record.cancel is not None and not record.settled and not record.strange:
        await hands.publish(record)
        record = await decide(hands, record, JobSettled(as_of=None), Reason.ALL_CLAUSES_HOLD)
        return Pass(Result.ACTED, record)
    if record.strange:
        return Pass(Result.STRANGE, record, why=record.strange[0].text)
    return Pass(Result.QUIET, record)


async def _prove(hands: Hands, adapter: Adapter, record: Record, look: _Look) -> tuple[Record, bool]:
    """Ask for word on the processes of runs that are over, and append it where it is news."""
    moved = False
    for ref, run in evidence.runs_to_prove(record, look.found, look.read_revision):
        word: Cessation | None
        if not look.able.cessation or not isinstance(adapter, ProvesCessation):
            word = evidence.presumed_gone(record, ref, run, look.found)
        else:
            try:
                word = await adapter.ceased(look.name, ref, run)
            except UnreachableError:
                continue
        if word is not None:
            record, also = await witness(hands, record, _cessation(ref, run, word, look))
            moved = moved or also
    return record, moved


def _cessation(ref: ObjectRef, run: int, word: Cessation, look: _Look) -> evidence.Builder:
    """Built again on a conflict: a run that may begin after all is no longer one to be proven gone."""

    def build(now: Record) -> CessationSeen | None:
        if (ref, run) not in evidence.runs_to_prove(now, look.found, look.read_revision):
            return None
        return evidence.cessation_seen(now, ref, run, word, look.able)

    return build


async def _regressed(hands: Hands, record: Record, found: Found, able: Capabilities, why: str) -> Pass:
    """Judged only after the tail was read again: an object made between read and Find is no regression."""
    tail = await hands.history.read(record.tenant, record.job, after=record.revision)
    if tail:
        return Pass(Result.MOVED, fold(record, tail), found, able, due_at=hands.clock())
    return Pass(Result.REGRESSED, record, found, able, why=why)


async def _decide(hands: Hands, situation: Situation) -> Pass:
    """Take the first step, append it, ask again; end after a call that this Find cannot cover."""
    result = Result.QUIET
    for _ in range(STEPS_MAX):
        steps = next_steps(situation)
        if not steps:
            break
        step = steps[0]
        if isinstance(step.event, JobSettled):
            await hands.publish(situation.record)
        record = await perform(hands, situation.record, step)
        result = Result.ACTED
        situation = replace(situation, record=record, now=hands.clock())
        if isinstance(step.event, AttemptCommitted):
            break
        if isinstance(step.event, CallCommitted) and step.event.verb not in (Verb.STOP, Verb.STOP_JOB):
            break
    return Pass(result, situation.record, situation.found, situation.capabilities, due_at=due_at(situation))
