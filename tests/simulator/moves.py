"""What the cluster does of its own accord, and what goes wrong on it, one move at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from adapters.simulated.slurm_job import SlurmJob
from adapters.simulated.trainjob import TrainJob
from adapters.simulated.truth import Truth
from streams.messages.values import Cause, CauseKind
from tests.simulator.draws import Draws

if TYPE_CHECKING:
    from tests.simulator.world import World

COMPLETED = Cause(kind=CauseKind.COMPLETED, exit_code=0)
ENDS = (
    COMPLETED,
    Cause(kind=CauseKind.EXIT_CODE, exit_code=1, rank=0, nodes=("n1",)),
    COMPLETED,
    Cause(kind=CauseKind.EXIT_CODE, exit_code=1, rank=1, nodes=("n2",)),
    Cause(kind=CauseKind.TIME_LIMIT),
    Cause(kind=CauseKind.OUT_OF_MEMORY),
)
J = TypeVar("J", SlurmJob, TrainJob)


class Moves(Generic[J]):
    """Moves of one cluster. Each says in a few words what happened, or nothing."""

    jobs: list[J]
    truth: Truth

    def __init__(self, world: World) -> None:
        self.world: World = world
        self.draws: Draws = world.draws
        self.table: list[tuple[str, int]] = []
        for name in dir(self):
            if name.startswith("fault_"):
                level = world.swarm.levels[name.removeprefix("fault_").replace("_", "-")]
                if level:
                    self.table.append((name, 4 * level))

    def fault(self) -> str:
        """One thing that goes wrong, of those this run has, as often as it is to."""
        if not self.table:
            return ""
        name, level = self.draws.pick(self.table)
        if not self.draws.chance(level):
            return ""
        self.advance()
        happened: str = getattr(self, name)()
        if happened:
            self.world.cluster.changes += 1
            self.world.faults[name.removeprefix("fault_").replace("_", "-")] += 1
        return happened

    def advance(self) -> None:
        """Bring the cluster to the present instant."""
        raise NotImplementedError

    def settle_down(self) -> None:
        """The cluster takes every call again and can tell of processes; its host's clock drifts no more."""
        cluster = self.world.cluster
        cluster.refuse_starts = ""
        cluster.deny_cessation = False
        cluster.otherwise.pop("read_only", None)
        cluster.changes += 1
        self.world.host_drifts_no_more()

    def fault_read_only(self) -> str:
        """The cluster may only be looked at, until it is said anew: what was sent before may land."""
        otherwise = self.world.cluster.otherwise
        otherwise["read_only"] = not otherwise.get("read_only", False)
        return f"the cluster may only be looked at: {otherwise['read_only']}"

    def brought_to_life(self, job: J, *, done: bool = True) -> bool:
        """Remember that this object was brought to life by no call of ours, if it was."""
        if done:
            self.world.watch.wild[job.ref] = self.world.steps
        return done

    def came_to_light(self, job: J, *, done: bool = True) -> bool:
        if done:
            self.world.shown_at[job.ref] = self.world.steps
        return done

    def ends_slowly(self) -> bool:
        """Whether what was told to stop takes its time."""
        return not self.world.calm and self.draws.chance(3 * self.world.swarm.levels["slow-end"])

    def any_job(self) -> J | None:
        return self.draws.pick(self.jobs) if self.jobs else None

    def any_node(self) -> str:
        return self.draws.pick(tuple(self.truth.nodes))
