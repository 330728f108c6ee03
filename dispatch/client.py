"""Publish commands and read histories from Python: `AsyncClient`; without an event loop: `dispatch.blocking`.

A command is one message; what became of it is one of four, kept apart:

    Accepted     it became an event (`already`: it, or the same thing asked before, had become one)
    Refused      nothing changed; the receipt says why and what to do
    Stored       it is on the bus and nobody has decided yet: it takes effect when a supervisor lives
    Undecided    no answer from the bus in time: it may be stored; send it again under the same command id

Sending the same command id twice is one command. Errors of the bus are `streams.errors`' own:
`BusUnreachableError` means that nothing was sent, and so does

    CommandIdUsedError    the command id was given to something else before: it says of which job

    async with await connect(BusSettings(urls=("nats://host:4222",)), tenant="nlp", actor="ana") as client:
        outcome = await client.submit("llama-7b", spec, said=Said(note="first try"))
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Self, TypedDict

from dispatch.identity import new_command_id, now
from projections.evolve import fold
from projections.record import Record
from streams import subjects
from streams.codec import verb_of
from streams.errors import BusUnreachableError, UndecidedError
from streams.jetstream.connect import BusSettings
from streams.jetstream.connect import connect as jetstream_connect
from streams.messages import commands
from streams.messages.commands import BrakeOrder, Command, IfUnknown, Retries
from streams.messages.events import Entry
from streams.messages.plan import RecoveryPlan
from streams.messages.receipts import Answer, Receipt
from streams.messages.spec import JobSpec
from streams.messages.values import Disposition, NodeAttested, ObjectRef, Target, Value
from streams.ports import Bus

__all__ = [
    "Accepted",
    "AsyncClient",
    "BusSettings",
    "CommandIdUsedError",
    "Outcome",
    "Refused",
    "RunOf",
    "Said",
    "Stored",
    "Undecided",
    "connect",
]

TIMEOUT_S = 10.0
_POLL_FIRST_S = 0.02
_POLL_MAX_S = 0.25
_RESEND_S = 0.5


class CommandIdUsedError(ValueError):
    """This command id is another job's: as a repeat it would be a second command. Nothing was sent."""

    def __init__(self, receipt: Receipt, job: str) -> None:
        of = "the tenant's controls" if receipt.job == subjects.CONTROLS else f"job {receipt.job}"
        super().__init__(f"command id {receipt.command} was used for the {receipt.verb} of {of}, not of {job}")
        self.receipt = receipt


class Accepted(Value, frozen=True, kw_only=True):
    """It became an event, number `receipt.number` of its job. `already`: this, or the same, had been asked."""

    receipt: Receipt
    already: bool = False


class Refused(Value, frozen=True, kw_only=True):
    """Nothing changed. `receipt.code` is stable, `receipt.sentence` says what to do."""

    receipt: Receipt


class Stored(Value, frozen=True, kw_only=True):
    """On the bus as `command`; no receipt in time. It takes effect once a supervisor decides it."""

    command: str
    sequence: int


class Undecided(Value, frozen=True, kw_only=True):
    """Sent and never acknowledged: it may take effect. Send it again with the same command id."""

    command: str


Outcome = Accepted | Refused | Stored | Undecided


class Said(Value, frozen=True, kw_only=True):
    """What may go with any command: a note kept for ever, for whom, and the id under which it is repeated."""

    note: str = ""
    on_behalf_of: str = ""
    command: str | None = None


class RunOf(Value, frozen=True, kw_only=True):
    """One run of one object."""

    object: ObjectRef
    run: int


class OrderFields(TypedDict):
    """The fields that every command has."""

    command: str
    tenant: str
    job: str
    at: datetime
    on_behalf_of: str
    note: str


class AsyncClient:
    """Commands and reads of one tenant over one connection. `actor`: whom the credentials may publish as."""

    def __init__(self, bus: Bus, *, tenant: str, actor: str, timeout_s: float = TIMEOUT_S) -> None:
        self.bus = bus
        self.tenant = tenant
        self.actor = actor
        self.timeout_s = timeout_s
        self._fresh: set[str] = set()  # ids made here and not sent yet: nobody can have used them
        self._refused_before: dict[str, Receipt] = {}  # under an id that is sent again: no answer to that

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.bus.close()

    def fields(self, job: str, said: Said) -> OrderFields:
        """The common fields of a command about `job`, given now; its id is new unless `said` brings one."""
        if said.command is None:
            command = new_command_id()
            self._fresh.add(command)
        else:
            command = said.command
        return {
            "command": command,
            "tenant": self.tenant,
            "job": job,
            "at": now(),
            "on_behalf_of": said.on_behalf_of,
            "note": said.note,
        }

    async def submit(
        self, job: str, spec: JobSpec, plan: RecoveryPlan | None = None, *, said: Said = Said()
    ) -> Outcome:
        """Run this job. `plan` None: the cluster's default. The same job and spec twice: the first receipt."""
        return await self.send(commands.SubmitJob(**self.fields(job, said), spec=spec, plan=plan))

    async def cancel(self, job: str, *, if_unknown: IfUnknown = IfUnknown.REFUSE, said: Said = Said()) -> Outcome:
        """Final: nothing of the job is authorized any more, and everything of it is stopped."""
        return await self.send(commands.CancelJob(**self.fields(job, said), if_unknown=if_unknown))

    async def hold(self, job: str, *, now: bool = False, instance: str | None = None, said: Said = Said()) -> Outcome:
        """No further run starts; `now` also ends the present one, where the cluster can."""
        return await self.send(commands.HoldJob(**self.fields(job, said), now=now, instance=instance))

    async def release(self, job: str, *, instances: Sequence[str] = (), said: Said = Said()) -> Outcome:
        """Lift these holds; none named: every hold that a person asked for."""
        return await self.send(commands.ReleaseJob(**self.fields(job, said), instances=tuple(instances)))

    async def requeue(self, job: str, *, run: int, resubmit: bool = False, said: Said = Said()) -> Outcome:
        """Run again: the same object after `run`, or with `resubmit` a new submission. No rule's budget is used."""
        return await self.send(commands.RequeueJob(**self.fields(job, said), run=run, resubmit=resubmit))

    async def dispose(self, job: str, target: Target, disposition: Disposition, *, said: Said = Said()) -> Outcome:
        """A person's decision about a foreign object, an unmatched attempt or an unreadable message."""
        return await self.send(commands.Dispose(**self.fields(job, said), target=target, disposition=disposition))

    async def attest(self, job: str, node: str, state: NodeAttested, run: RunOf, *, said: Said = Said()) -> Outcome:
        """A person's word that nothing of `run` lives on `node`."""
        word = commands.AttestNodeOff(**self.fields(job, said), node=node, state=state, object=run.object, run=run.run)
        return await self.send(word)

    async def controls(
        self,
        *,
        cluster: str | None = None,
        retries: Retries | None = None,
        brake: BrakeOrder | None = None,
        observe: bool | None = None,
        said: Said = Said(),
    ) -> Outcome:
        """Kill switch, brake and observe mode of the tenant's retries. None leaves a thing as it is."""
        fields = self.fields(subjects.CONTROLS, said)
        order = commands.SetControls(**fields, cluster=cluster, retries=retries, brake=brake, observe=observe)
        return await self.send(order)

    async def send(self, command: Command) -> Outcome:
        """Publish one command and wait for what becomes of it, `timeout_s` at most.

        Raises BusUnreachableError when nothing was sent, NotPermittedError when the credentials lack the right,
        CodecError when the command breaks a rule of its type, CommandIdUsedError when its id is another job's.
        Cancelled: as undecided.
        """
        deadline = time.monotonic() + self.timeout_s
        sequence = await self.publish(command, deadline=deadline)
        if sequence is None:
            return Undecided(command=command.command)
        receipt = await self.wait_receipt(command, deadline=deadline)
        return Stored(command=command.command, sequence=sequence) if receipt is None else outcome_of(receipt)

    async def publish(self, command: Command, *, deadline: float) -> int | None:
        """The command's sequence; None when it was sent and not acknowledged until `deadline` (monotonic).

        Sent again under the same id until then: the record remembers command ids, so twice is once. Not a refusal,
        though, which nothing records: what has its receipt is not sent again, and 0 is given for its sequence. An id
        that was brought along is looked up first, since each record knows only its own job's: CommandIdUsedError.
        """
        if command.command not in self._fresh:
            await self._look_up(command)
        self._fresh.discard(command.command)
        sent = False
        while True:
            try:
                return await self.bus.commands.publish(command, actor=self.actor)
            except UndecidedError:
                sent = True
            except BusUnreachableError:
                if not sent:
                    raise
            if time.monotonic() + _RESEND_S >= deadline:
                return None
            await asyncio.sleep(_RESEND_S)
            if sent and await self._answer_to(command) is not None:
                return 0

    async def _look_up(self, command: Command) -> None:
        """Refuse an id whose receipt is another job's; remember a refusal, since the same may be accepted now."""
        receipt = await self.bus.buckets.get_receipt(self.tenant, command.command)
        if receipt is None:
            return
        if receipt.job != command.job:
            raise CommandIdUsedError(receipt, command.job)
        if isinstance(outcome_of(receipt), Refused):
            self._refused_before[command.command] = receipt

    async def _answer_to(self, command: Command) -> Receipt | None:
        """The receipt that answers this sending of `command`, if there is one by now and the bus tells it."""
        try:
            receipt = await self.bus.buckets.get_receipt(self.tenant, command.command)
        except BusUnreachableError:
            return None
        if receipt is None or (receipt.job, receipt.verb) != (command.job, verb_of(command)):
            return None
        return None if receipt == self._refused_before.get(command.command) else receipt

    async def wait_receipt(self, command: Command, *, deadline: float) -> Receipt | None:
        """The command's receipt, or None when `deadline` (of `time.monotonic`) passed without one.

        One under its id that is of another job or verb is no answer to it, and passed over; so is a refusal from
        before it was sent again.
        """
        pause = _POLL_FIRST_S
        try:
            while (receipt := await self._answer_to(command)) is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                await asyncio.sleep(min(pause, left))
                pause = min(_POLL_MAX_S, pause * 1.5)
        finally:
            self._refused_before.pop(command.command, None)
        return receipt

    async def receipt(self, command: str) -> Receipt | None:
        """What became of a command so far; None before a decision, or days after it."""
        return await self.bus.buckets.get_receipt(self.tenant, command)

    async def history(self, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        """The job's events above revision `after`, oldest first; empty for a name never seen."""
        return await self.bus.history.read(self.tenant, job, after=after)

    async def record(self, job: str) -> Record:
        """The job's history, folded."""
        return fold(Record(tenant=self.tenant, job=job), await self.history(job))


def outcome_of(receipt: Receipt) -> Accepted | Refused:
    """Which of the answered outcomes a receipt tells of."""
    if receipt.answer in {Answer.ACCEPTED, Answer.ALREADY}:
        return Accepted(receipt=receipt, already=receipt.answer is Answer.ALREADY)
    return Refused(receipt=receipt)


async def connect(settings: BusSettings, *, tenant: str, actor: str, timeout_s: float = TIMEOUT_S) -> AsyncClient:
    """A client on a connection of its own. Raises BusUnreachableError, NotPermittedError or SettingsError."""
    return AsyncClient(await jetstream_connect(settings), tenant=tenant, actor=actor, timeout_s=timeout_s)
