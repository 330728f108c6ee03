"""What people and services ask of dispatch: commands at random, and one diligent person in the quiet phase."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from adapters.simulated.slurm_job import SlurmJob
from adapters.simulated.trainjob import TrainJob
from dispatch.supervisor import Result
from projections.controls import Controls, fold_controls
from projections.intents import may_carry_our_hold
from projections.record import ObjectRecord, Record
from projections.sightings import waiting_nodes
from streams import codec, subjects
from streams.messages import commands
from streams.messages.commands import Command
from streams.messages.values import (
    AttemptRef,
    Disposition,
    HoldKind,
    HoldSeen,
    MessageRef,
    NodeAttested,
    ObjectRef,
    Phase,
)
from tests.simulator.ledger import JOB, TENANT
from tests.simulator.moves_kubeflow import KubeflowMoves
from tests.simulator.moves_slurm import SlurmMoves

if TYPE_CHECKING:
    from tests.simulator.world import World

QUEUES_FOR_EVER = timedelta(minutes=15)
GIVES_UP_AFTER = 5  # holds that the plan asked for
VERBS = ("submit", "cancel", "hold", "release", "requeue", "dispose", "attest", "resubmit", "repeat", "controls")


class Waiting:
    """One command on the bus, until it is acknowledged."""

    __slots__ = ("data", "in_hand", "sequence", "subject")

    def __init__(self, subject: str, data: bytes, sequence: int) -> None:
        self.subject = subject
        self.data = data
        self.sequence = sequence
        self.in_hand = False


class Operators:
    """Commands drawn from the seed; some are sent twice, under the same id."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.queue: list[Waiting] = []
        self._sent: list[Command] = []
        self._count = 0
        self._published = 0
        levels = world.swarm.levels
        # A cancel ends all that could go wrong, so it comes late rather than early.
        self._table = [(v, (2 if v == "cancel" else 8) * levels[v]) for v in VERBS if levels[v]]

    def publish(self, command: Command) -> None:
        """Put it on the bus, as the codec writes it."""
        subject = subjects.command(command.tenant, "ana", codec.verb_of(command), command.job)
        self._published += 1
        self.queue.append(Waiting(subject, codec.encode_command(command), self._published))
        self._sent.append(command)

    def waiting(self) -> list[Waiting]:
        """Commands that nobody has in hand; one of them may be received again."""
        return [waiting for waiting in self.queue if not waiting.in_hand]

    def done(self, waiting: Waiting) -> None:
        if waiting in self.queue:
            self.queue.remove(waiting)

    def submit(self) -> Command:
        return commands.SubmitJob(**self._base(), spec=self.world.swarm.spec, plan=self.world.swarm.plan)

    def at_random(self, record: Record) -> Command | None:
        """One command, given what a person would see now."""
        if not self._table:
            return None
        verb, level = self.world.draws.pick(self._table)
        if not self.world.draws.chance(level):
            return None
        # People mostly ask for what can be done; now and then for what cannot.
        return self._build(verb, record) if _fits(verb, record) or self.world.draws.below(8) == 7 else None

    def _base(self, job: str = JOB) -> dict[str, Any]:
        self._count += 1
        return {"command": f"cmd-{self._count}", "tenant": TENANT, "job": job, "at": self.world.now}

    def _build(self, verb: str, record: Record) -> Command | None:
        draws = self.world.draws
        match verb:
            case "submit":
                return self._submit_again()
            case "cancel":
                unknown = (commands.IfUnknown.RECORD, commands.IfUnknown.REFUSE)[draws.below(2)]
                return commands.CancelJob(**self._base(), if_unknown=unknown)
            case "hold":
                return commands.HoldJob(**self._base(), now=draws.below(4) == 3)
            case "release":
                return commands.ReleaseJob(**self._base())
            case "requeue" | "resubmit":
                held = record.canonical()
                return commands.RequeueJob(**self._base(), run=held.run if held else 0, resubmit=verb == "resubmit")
            case "dispose":
                return self._dispose(record)
            case "attest":
                return self._attest(record)
            case "controls":
                return self._controls()
            case _:
                return draws.pick(self._sent) if self._sent else None

    def _submit_again(self) -> Command:
        """This job or another one under its name, by a new command or under the id of one that was sent before."""
        draws = self.world.draws
        base, spec = self._base(), self.world.swarm.spec
        if draws.below(4) == 3:
            spec = replace(spec, attempts_max=1 + spec.attempts_max % 3)
        if self._sent and draws.below(4) == 3:
            base["command"] = draws.pick(self._sent).command
        return commands.SubmitJob(**base, spec=spec, plan=self.world.swarm.plan)

    def _controls(self) -> Command:
        draws = self.world.draws
        return commands.SetControls(
            **self._base(subjects.CONTROLS),
            cluster=(None, self.world.cluster.name)[draws.below(2)],
            retries=(commands.Retries.ON, commands.Retries.OFF, None)[draws.below(3)],
            observe=(False, True, None)[draws.below(3)],
            brake=(None, commands.BrakeOrder.CLEAR)[draws.below(2)],
        )

    def _dispose(self, record: Record) -> Command | None:
        draws = self.world.draws
        targets: list[ObjectRef | AttemptRef] = [*record.objects, *(a.ref for a in record.attempts)]
        if not targets:
            return None
        kinds = (Disposition.IGNORE, Disposition.STOP, Disposition.GONE, Disposition.ADOPT)
        return commands.Dispose(**self._base(), target=draws.pick(targets), disposition=draws.pick(kinds))

    def _attest(self, record: Record) -> Command | None:
        """A person's word for a node: true here, since no law rests on a false one."""
        for held in record.objects.values():
            for run in held.unproven:
                for node in waiting_nodes(run):
                    if not self.world.lives_on(held.ref, run.run, node):
                        state = (NodeAttested.OFF, NodeAttested.REBOOTED)[self.world.draws.below(2)]
                        return commands.AttestNodeOff(
                            **self._base(), node=node, state=state, object=held.ref, run=run.run
                        )
        return None

    # the quiet phase

    def put_controls_right(self) -> None:
        """Retries on, observe off, no brake: for every cluster and for this one."""
        for cluster in (None, self.world.cluster.name):
            self.publish(self._right_controls(cluster))

    def _right_controls(self, cluster: str | None) -> Command:
        return commands.SetControls(
            **self._base(subjects.CONTROLS),
            cluster=cluster,
            retries=commands.Retries.ON,
            observe=False,
            brake=commands.BrakeOrder.CLEAR,
        )

    def _controls_now(self) -> Controls:
        return fold_controls(Controls(), self.world.ledger.controls)

    def diligent(self, record: Record) -> Command | None:
        """The one thing that a person who reads `dispatch why` would do next, or None."""
        base = self._base
        if record.empty:
            return self.submit()
        if record.strange:
            ref = MessageRef(revision=record.strange[0].revision)
            return commands.Dispose(**base(), target=ref, disposition=Disposition.IGNORE)
        lacked = self._lacked(record)
        if lacked is not None:
            # What runs may be left alone, or ended; of what only a message tells there is nothing to end.
            stop = isinstance(lacked, ObjectRef) and self.world.draws.below(2) == 1
            return commands.Dispose(
                **base(), target=lacked, disposition=Disposition.STOP if stop else Disposition.IGNORE
            )
        for cluster in (None, self.world.cluster.name):
            # An order of before, late on the bus, may have undone what was put right.
            if self._controls_now().standing(cluster).keeps(self.world.now):
                return self._right_controls(cluster)
        if record.in_force and not record.over:
            if sum(hold.kind is HoldKind.RULE for hold in record.holds.values()) > GIVES_UP_AFTER:
                return commands.CancelJob(**base())  # its plan asks a person at each failure, and it fails each time
            return commands.ReleaseJob(**base(), instances=tuple(h.instance for h in record.in_force))
        canonical = record.canonical()
        if canonical is not None and not record.over:
            if canonical.ignored or canonical.hold is HoldSeen.LAUNCH_FAILED or self._queues_for_ever(canonical):
                return commands.RequeueJob(**base(), run=canonical.run, resubmit=True)
        self._release_at_the_scheduler(record)
        return self._disposal(record) or self._attest(record)

    def _queues_for_ever(self, held: ObjectRecord) -> bool:
        """Kueue has admitted it and its pods wait behind their fence: only a person sees that no nodes are lacking."""
        if held.phase is not Phase.QUEUED or held.since is None:
            return False
        return self.world.now - held.since >= QUEUES_FOR_EVER

    def _release_at_the_scheduler(self, record: Record) -> None:
        """A hold that no call of this history placed is released where it was placed, by hand (R20)."""
        held, moves = record.canonical(), self.world.moves
        if held is None or held.hold is not HoldSeen.USER or may_carry_our_hold(record, held.ref):
            return
        for job in moves.jobs:
            if isinstance(job, TrainJob) and isinstance(moves, KubeflowMoves) and job.ref == held.ref:
                moves.people.reactivate(job)
            if isinstance(job, SlurmJob) and isinstance(moves, SlurmMoves) and job.ref == held.ref and job.set_aside:
                moves.people.release(job)

    def _disposal(self, record: Record) -> Command | None:
        base = self._base
        for held in record.objects.values():
            if held.foreign and held.disposition is None:
                return commands.Dispose(**base(), target=held.ref, disposition=Disposition.STOP)
        for attempt in record.attempts:
            if attempt.unmatched and not self.world.may_land(attempt.call):
                return commands.Dispose(**base(), target=attempt.ref, disposition=Disposition.GONE)
        for held in record.objects.values():
            doubtful = (held.missing and not held.accounted) or (held.unproven and held.accounted)
            if doubtful and not self.world.exists(held.ref):
                return commands.Dispose(**base(), target=held.ref, disposition=Disposition.GONE)
        return None

    def _lacked(self, record: Record) -> ObjectRef | MessageRef | None:
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


def _fits(verb: str, record: Record) -> bool:
    """Whether there is something for this command to change, as far as the history tells."""
    held = record.canonical()
    match verb:
        case "submit":
            return record.empty
        case "requeue":
            return held is not None and held.phase is Phase.RUNNING and not record.over
        case "resubmit":
            return held is not None and not record.over and any(run.authorized for run in held.runs)
        case "hold":
            return held is not None and not record.over
        case "release":
            return bool(record.in_force)
        case _:
            return True
