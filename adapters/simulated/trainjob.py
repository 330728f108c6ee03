"""One TrainJob as the API server and the controllers below hold it, its pods, and what a Find shows of it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from adapters.simulated.truth import Execution, Lift
from streams.messages.calls import JobName
from streams.messages.spec import JobSpec
from streams.messages.values import Cause, CauseKind, HoldSeen, ObjectRef, Phase, Sighting, Tag

STOPPED = Cause(kind=CauseKind.STOPPED)


class PodState(StrEnum):
    """`fenced`: born with a scheduling gate. `terminating`: told to stop, its process alive."""

    FENCED = "fenced"
    PENDING = "pending"
    RUNNING = "running"
    TERMINATING = "terminating"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


OVER = (PodState.SUCCEEDED, PodState.FAILED)


class Admission:
    """One time the object was let run: its A, on whose word, and the processes that came of it."""

    __slots__ = ("a", "execution", "lift")

    def __init__(self, a: int, lift: Lift) -> None:
        self.a = a
        self.lift = lift
        self.execution: Execution | None = None


class Pod:
    """One rank of one admission; `born_at` when it was created, `node` once it was bound."""

    __slots__ = ("admission", "born_at", "job", "node", "rank", "since", "state")

    def __init__(self, job: TrainJob, admission: Admission, rank: int, state: PodState, since: datetime) -> None:
        self.job = job
        self.admission = admission
        self.rank = rank
        self.state = state
        self.born_at = self.since = since
        self.node: str | None = None

    @property
    def has_process(self) -> bool:
        return self.state is PodState.RUNNING or (self.state is PodState.TERMINATING and self.node is not None)


class Workload:
    """Kueue's side of one TrainJob. `check_a` stays from an earlier Ready until it is written again."""

    __slots__ = ("active", "check_a", "check_lift", "evicted", "quota", "ready")

    def __init__(self) -> None:
        self.active = True
        self.quota = False
        self.evicted = False
        self.ready = False
        self.check_a = 0
        self.check_lift: Lift | None = None


class TrainJob:
    """`suspend` is the gate; `seen_suspend` and `seen_admission` are what the controllers have observed last."""

    __slots__ = (
        "admission",
        "back_after",
        "deleting",
        "done_ranks",
        "ended",
        "executions",
        "gone",
        "hidden",
        "name",
        "pods",
        "ref",
        "seen_admission",
        "seen_suspend",
        "shown",
        "since",
        "spec",
        "stopped",
        "suspend",
        "tag",
        "version",
        "why",
        "workload",
    )

    def __init__(self, ref: ObjectRef, name: JobName, tag: Tag | None, spec: JobSpec | None, since: datetime) -> None:
        self.ref = ref
        self.name = name
        self.tag = tag
        self.spec = spec
        self.since = since
        self.version = 1
        self.suspend = True
        self.admission: Admission | None = None
        self.back_after: int | None = None
        self.seen_suspend = True
        self.seen_admission: Admission | None = None
        self.pods: list[Pod] = []
        self.done_ranks: list[int] = []
        self.executions: list[Execution] = []
        self.ended: Cause | None = None
        self.why: Cause | None = None
        self.stopped = False
        self.deleting = False
        self.gone = False
        self.hidden = False
        self.workload: Workload | None = None
        self.shown: Sighting | None = None

    @property
    def a(self) -> int:
        """The number of the newest admission; 0 before the first."""
        return self.admission.a if self.admission else 0

    @property
    def run(self) -> int:
        """The run that a Find shows: once back at the gate, the one that would begin next. Never goes back."""
        if self.phase is Phase.GATED:
            self.back_after = self.a
        return self.a + 1 if self.back_after == self.a else max(self.a, 1)

    @property
    def may_have_quota(self) -> bool:
        """Whether Kueue may hold quota for it, whatever the checks say: active, and not being deleted."""
        return self.workload is not None and self.workload.active and not self.deleting

    @property
    def ranks(self) -> int:
        return self.spec.nodes if self.spec else 1

    @property
    def closed(self) -> bool:
        """Suspended, and every controller below has seen it: no pod of it can appear."""
        return self.suspend and self.seen_suspend

    @property
    def live_pods(self) -> list[Pod]:
        """Every pod that may hold a process, now or later: Terminating ones too, finished ones not."""
        return [pod for pod in self.pods if pod.state not in OVER]

    @property
    def phase(self) -> Phase:
        """What a Find shows: ended only once no pod of it may hold a process, gated only once no pod can appear."""
        live = self.live_pods
        if self.ended is not None:
            return Phase.ENDING if live else Phase.ENDED
        if self.deleting or (self.stopped and self.suspend):
            return Phase.ENDED if self.closed and not live else Phase.ENDING
        if self.suspend:
            return self._gate_phase() if self.seen_suspend and not live else Phase.ENDING
        return Phase.RUNNING if any(pod.has_process for pod in live) else Phase.QUEUED

    def _gate_phase(self) -> Phase:
        workload = self.workload
        if workload is None or (workload.quota and not workload.ready and not workload.evicted):
            return Phase.GATED
        return Phase.QUEUED

    def sighting(self) -> Sighting:
        """The object as a complete Find shows it."""
        if self.shown is None:
            self.shown = self._sighting()
        return self.shown

    def _sighting(self) -> Sighting:
        phase = self.phase
        ended = phase is Phase.ENDED
        cause = (self.ended or STOPPED) if ended else self.why if phase is Phase.ENDING else None
        last = self.executions[-1] if self.executions else None
        return Sighting(
            object=self.ref,
            tag=self.tag,
            run=self.run,
            phase=phase,
            hold=HoldSeen.USER if self.workload and not self.workload.active and not self.stopped else HoldSeen.NONE,
            cause=cause,
            end_final=ended and self.stopped and self.closed,
            ranks_done=len(self.done_ranks),
            nodes=last.nodes if last else (),
        )
