"""What people and services ask of dispatch: commands at random, and one diligent operator in the quiet phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.errors import AdapterError
from dispatch import act
from dispatch.supervisor import Result
from dispatch.decide import Already, Decided, Facts, decide
from projections.evolve import fold
from projections.record import Record
from projections.sightings import waiting_nodes
from streams.errors import ConflictError
from streams.messages import commands
from streams.messages.commands import Command
from streams.messages.values import AttemptRef, Disposition, HoldSeen, MessageRef, NodeAttested, ObjectRef
from tests.simulator.ledger import JOB, TENANT

if TYPE_CHECKING:
    from tests.simulator.process import Process
    from tests.simulator.world import World

TRIES_MAX = 4


async def carry_out(process: Process, command: Command, *, ask_cluster: bool) -> None:
    """Decide one command at the present revision, again after each conflict."""
    hands = process.hands
    asked = act.Asked(command.command, "ana", None, command.note or None, command.at)
    record = process.held
    for _ in range(TRIES_MAX):
        record = fold(record, await hands.history.read(TENANT, JOB, after=record.revision))
        facts = await _facts(process, ask_cluster=ask_cluster)
        answered = decide(record, command, facts)
        if not isinstance(answered, Decided):
            if not isinstance(answered, Already):
                process.world.refused(answered.code)
            return
        try:
            await act.decide(hands, record, answered.event, answered.reason, asked)
        except ConflictError:
            continue
        process.world.woken = True
        return


async def _facts(process: Process, *, ask_cluster: bool) -> Facts:
    world = process.world
    found = able = None
    try:
        able = await process.adapter.capabilities()
        if ask_cluster:
            found = await process.adapter.find(world.name)
    except AdapterError:
        pass
    return Facts(now=process.clock(), controls=process.controls, capabilities=able, found=found, actor="ana")


class Operators:
    """Commands drawn from the seed, each with an id that is sometimes one used before."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sent: list[Command] = []
        self._count = 0
        table = ["cancel", "hold", "release", "requeue", "dispose", "attest", "resubmit", "repeat"]
        self.table = [verb for verb in table for _ in range(min(3, world.swarm.level(verb).bit_length() // 2))]

    def submit(self) -> Command:
        return commands.SubmitJob(**self._base(), spec=self.world.swarm.spec, plan=self.world.swarm.plan)

    def at_random(self, record: Record) -> Command | None:
        """One command, given what a person would see now."""
        if not self.table:
            return None
        verb = self.world.draws.pick(self.table)
        command = self._build(verb, record)
        if command is not None:
            self.sent.append(command)
        return command

    def _base(self) -> dict[str, object]:
        self._count += 1
        return {"command": f"cmd-{self._count}", "tenant": TENANT, "job": JOB, "at": self.world.now}

    def _build(self, verb: str, record: Record) -> Command | None:
        draws = self.world.draws
        match verb:
            case "cancel":
                return commands.CancelJob(**self._base(), if_unknown=commands.IfUnknown.RECORD)
            case "hold":
                return commands.HoldJob(**self._base(), now=draws.below(4) == 3)
            case "release":
                return commands.ReleaseJob(**self._base())
            case "requeue" | "resubmit":
                held = record.canonical()
                run = held.run if held else 0
                return commands.RequeueJob(**self._base(), run=run, resubmit=verb == "resubmit")
            case "dispose":
                return self._dispose(record)
            case "attest":
                return self._attest(record)
            case _:
                return draws.pick(self.sent) if self.sent else None

    def _dispose(self, record: Record) -> Command | None:
        draws = self.world.draws
        targets: list[ObjectRef | AttemptRef] = [*record.objects, *(a.ref for a in record.attempts)]
        if not targets:
            return None
        target = draws.pick(targets)
        kinds = (Disposition.IGNORE, Disposition.STOP, Disposition.GONE, Disposition.ADOPT)
        return commands.Dispose(**self._base(), target=target, disposition=draws.pick(kinds))

    def _attest(self, record: Record) -> Command | None:
        """A person's word for a node: true here, since no law rests on a false one (docs/limits)."""
        for held in record.objects.values():
            for run in held.unproven:
                for node in waiting_nodes(run):
                    if not self.world.lives_on(held.ref, run.run, node):
                        return commands.AttestNodeOff(
                            **self._base(), node=node, state=NodeAttested.OFF, object=held.ref, run=run.run
                        )
        return None

    def diligent(self, record: Record) -> Command | None:
        """The one thing that a person who reads `dispatch why` would do next, or None."""
        base = self._base
        regressed = self._regressed(record)
        if regressed is not None:
            return commands.Dispose(**base(), target=regressed, disposition=Disposition.IGNORE)
        if record.strange:
            ref = MessageRef(revision=record.strange[0].revision)
            return commands.Dispose(**base(), target=ref, disposition=Disposition.IGNORE)
        if record.in_force and not record.over:
            return commands.ReleaseJob(**base(), instances=tuple(h.instance for h in record.in_force))
        canonical = record.canonical()
        if canonical is not None and not record.over:
            if canonical.ignored or canonical.hold is HoldSeen.LAUNCH_FAILED:
                return commands.RequeueJob(**base(), run=canonical.run, resubmit=True)
        for held in record.objects.values():
            if held.foreign and held.disposition is None:
                return commands.Dispose(**base(), target=held.ref, disposition=Disposition.STOP)
        for attempt in record.attempts:
            if attempt.unmatched and not self.world.may_land(attempt.call):
                return commands.Dispose(**base(), target=attempt.ref, disposition=Disposition.GONE)
        for held in record.objects.values():
            if held.missing and not held.accounted and not self.world.exists(held.ref):
                return commands.Dispose(**base(), target=held.ref, disposition=Disposition.GONE)
            if held.unproven and held.accounted and not self.world.exists(held.ref):
                return commands.Dispose(**base(), target=held.ref, disposition=Disposition.GONE)
        return self._attest(record)

    def _regressed(self, record: Record) -> ObjectRef | MessageRef | None:
        """What the last pass found that this history lacks, one at a time."""
        ended = self.world.last_pass
        if ended is None or ended.found is None or ended.result is not Result.REGRESSED:
            return None
        floor = ended.found.floor
        if floor is not None and record.intents.get(floor.revision) != floor.nonce:
            if floor.revision not in record.waived:
                return MessageRef(revision=floor.revision)
        for seen in ended.found.sightings:
            held = record.objects.get(seen.object)
            if seen.tag is not None and record.intents.get(seen.tag.revision) != seen.tag.nonce:
                if held is None or held.disposition is None:
                    return seen.object
        return None
