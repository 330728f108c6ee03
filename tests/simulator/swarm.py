"""What one run is like: the cluster's shape, the job, and which faults are about, drawn from the seed (swarm)."""

from __future__ import annotations

from collections.abc import Collection

from adapters.simulated.kubeflow import KubeflowSettings
from adapters.simulated.slurm import SlurmSettings
from streams.messages.plan import ANY, Backoff, FastFail, PlanAction, PlanRule, RecoveryPlan, WhenSpent
from streams.messages.spec import JobSpec, Run, Unmatched
from streams.messages.values import CauseKind
from tests.simulator.draws import Draws

SHAPES = ("slurm", "slurm-fenced", "slurm-plain", "kubeflow", "kubeflow-unfenced", "kueue", "slurm-beside")

# How likely each fault is, in 1024, at each of its chances, when a run has it: the calmest first.
LEVELS = (0, 0, 8, 40, 160)
DRIFTS = (0.0, 0.0, 0.01, -0.01, 0.1)
# After how long a cluster presumes the processes of a run that ended gone.
PRESUMES_S = (30.0, 600.0)
# CallBound: on Kubernetes a minute, on Slurm about seven.
BOUNDS_S = (30.0, 120.0, 400.0)
# One time in how many a run that is looked at exits.
EXITS_IN = (12, 12, 48)
# How long it is until the next thing, each time that time passes; in a third of the runs much happens in little time.
WAITS_S = (1.0, 0.2, 5.0, 12.0, 31.0, 65.0)
SHORT_S = (1.0, 0.2, 0.2, 5.0, 1.0, 12.0)

TRANSPORT = (
    "reply-lost",
    "append-lost",
    "append-late",
    "store-unreachable",
    "read-stale",
    "read-lost",
    "call-lost",
    "call-late",
    "crash",
    "clock-jump",
)
PEOPLE = ("submit", "cancel", "hold", "release", "requeue", "dispose", "attest", "controls", "resubmit", "repeat")
SLURM = (
    "purge",
    "row-lost",
    "lost-record",
    "stragglers",
    "own-requeue",
    "hand-requeue",
    "duplicate-start",
    "slow-start",
)
KUBEFLOW = ("controllers-lag", "jobset-goes", "old-ready", "out-of-service")
CLUSTER = (
    "hide",
    "lose-node",
    "preempt",
    "hand-release",
    "hand-hold",
    "hand-cancel",
    "foreign",
    "refuse-start",
    "deny-cessation",
    "read-only",
    "slow-end",
)
HISTORY = ("restore", "unknown-event", "quarantine", "brake", "repeated-event")
# What keeps a gate shut, or stops every decision, for long: in few runs, so that the others go far.
RARE = (*HISTORY, "foreign", "refuse-start", "deny-cessation", "read-only", "lost-record", "controls")
# Half of the runs have a theme: its faults often, the others hardly, so that what belongs together meets.
THEMES: dict[str, tuple[str, ...]] = {
    "lost": ("lose-node", "stragglers", "out-of-service", "preempt", "resubmit"),
    "late": ("call-late", "call-lost", "reply-lost", "clock-jump", "append-late"),
    "requeue": ("requeue", "resubmit", "call-late", "reply-lost", "hand-requeue"),
    "holds": ("hold", "release", "call-late", "reply-lost", "hand-release"),
    "starts": ("call-late", "call-lost", "hide", "duplicate-start", "crash"),
    "again": ("jobset-goes", "old-ready", "hand-release", "hand-hold", "hand-requeue", "preempt", "controllers-lag"),
    "lagging": ("read-stale", "append-late", "append-lost", "crash"),
    "cancel": ("cancel", "call-late", "reply-lost", "requeue"),
    "gone": ("hide", "purge", "row-lost", "hand-cancel", "lost-record", "cancel"),
    "clean-up": ("cancel", "call-late"),
    "in-place": ("requeue", "call-late"),
    "slow": ("cancel", "slow-end"),
    "ends": ("slow-end", "hand-requeue", "lose-node", "stragglers", "call-late"),
    "nodes": ("lose-node", "stragglers", "cancel"),
    "hands": ("hand-release", "hand-hold", "call-late", "slow-end"),
    "strangers": ("foreign", "call-late"),
    "held": ("hold", "call-late"),
    "lagging-below": ("controllers-lag", "cancel"),
    "replaced": ("resubmit", "call-late"),
    "quota": ("preempt", "old-ready", "slow-end"),
    "repeated": ("repeated-event", "hold", "release"),
    "late-looks": ("append-late",),
    "comes-back": ("hand-requeue", "slow-start", "lose-node", "stragglers", "call-late"),
    "re-admitted": ("preempt", "old-ready", "lose-node", "out-of-service"),
    "started": ("cancel", "call-late"),
    "called-off": ("cancel", "call-late", "requeue"),
    "back": ("requeue", "lose-node", "stragglers"),
    "reopened": ("requeue", "call-late", "hand-release"),
    "flicker": ("hide", "read-stale"),
    "resubmitted": ("requeue", "resubmit", "call-late"),
    "re-held": ("hold", "release", "call-late", "slow-start"),
    "later-releases": ("unknown-event", "crash"),
    "gone-back": ("restore", "quarantine", "crash"),
    "looked-at": ("read-only", "hold", "cancel", "requeue"),
    "attested": ("attest", "lose-node", "stragglers", "deny-cessation"),
    "left-behind": ("foreign", "lose-node", "cancel"),
    "own-way": ("own-requeue", "hand-requeue", "lose-node", "requeue"),
    "restored": ("restore", "submit", "cancel", "append-late", "call-late"),
}
THEMED = (40, 160, 320)
# What would keep a gate shut if it came often.
SELDOM = ("foreign", "restore")
BEGINS = {
    "late": "",
    "late-looks": "",
    "started": "",
    "starts": "",
    "lagging": "",
    "holds": "gated",
    "clean-up": "gated",
    "hands": "gated",
    "lagging-below": "gated",
    "strangers": "gated",
    "held": "gated",
    "reopened": "gated",
    "re-held": "queued",
}
FAULTS = TRANSPORT + PEOPLE + SLURM + KUBEFLOW + CLUSTER + HISTORY


class Swarm:
    """`levels` holds how likely each fault is, in 1024, at its chance; 0 where this run has none of it.

    `shape` may name a theme too, after a colon: `slurm-plain:requeue`. What is asked for is drawn all the same, so that
    the rest of the run is the seed's.
    """

    def __init__(self, draws: Draws, shape: str | None = None) -> None:
        asked, _, theme = (shape or "").partition(":")
        drawn = SHAPES[draws.below(len(SHAPES))]
        self.shape = _known(asked, SHAPES) if asked else drawn
        self.drifts = [DRIFTS[draws.below(len(DRIFTS))] for _ in range(1 + draws.below(3))]
        self.exits_in = EXITS_IN[draws.below(len(EXITS_IN))]
        self.waits_s = SHORT_S if draws.below(3) == 2 else WAITS_S
        self.call_bound_s = BOUNDS_S[draws.below(len(BOUNDS_S))]
        self.levels = {fault: LEVELS[draws.below(len(LEVELS))] for fault in FAULTS}
        for fault in RARE:
            if draws.below(4) < 3:
                self.levels[fault] = 0
        drawn = (*THEMES, *("",) * len(THEMES))[draws.below(2 * len(THEMES))]
        self.theme = _known(theme, THEMES) if theme else drawn
        for fault in FAULTS if self.theme else ():
            themed = fault in THEMES[self.theme]
            number = draws.below(8)
            often = THEMED[0 if fault in SELDOM else number % 3]
            self.levels[fault] = often if themed else 8 * (number == 7)
        for fault in KUBEFLOW if self.is_slurm else SLURM:
            self.levels[fault] = 0
        number = draws.below(4)
        begins = BEGINS.get(self.theme, "running") if number else ""
        self.head_start = begins if self.theme else ("", "", "gated", "running")[number]
        self.spec = self._spec(draws)
        self.plan = self._plan(draws)
        self.host_drift = DRIFTS[draws.below(len(DRIFTS))]
        self.presume_after_s = PRESUMES_S[draws.below(2)] if draws.below(8) == 7 else None
        # What cannot tell of processes has its policy; what keeps no floor notices no loss that no object tells of (L14).
        self.cessation = draws.below(16) < 15
        self.keeps_floor = draws.below(16) < 15 or self.levels["restore"] > 0

    @classmethod
    def calm(
        cls,
        shape: str,
        *,
        replicas: int = 2,
        spec: JobSpec | None = None,
        plan: RecoveryPlan | None = None,
    ) -> Swarm:
        """A run without faults, for a script."""
        swarm = cls(Draws(0, ()), shape)
        swarm.levels = dict.fromkeys(FAULTS, 0)
        swarm.drifts = [0.0] * replicas
        swarm.host_drift = 0.0
        swarm.head_start = ""
        swarm.spec = spec or swarm.spec
        swarm.plan = plan or swarm.plan
        return swarm

    @property
    def is_slurm(self) -> bool:
        return self.shape.startswith("slurm")

    def slurm(self) -> SlurmSettings:
        return SlurmSettings(
            call_bound_s=self.call_bound_s,
            fenced_calls=self.shape in ("slurm-fenced", "slurm-beside"),
            incomplete=self.shape not in ("slurm-plain", "slurm-beside"),
            hold_beside_gate=self.shape == "slurm-beside",
            keeps_floor=self.keeps_floor,
            presume_after_s=self.presume_after_s,
            nodes=("n1", "n2", "n3"),
        )

    def kubeflow(self) -> KubeflowSettings:
        return KubeflowSettings(
            call_bound_s=self.call_bound_s,
            kueue=self.shape == "kueue",
            pod_fence=self.shape != "kubeflow-unfenced",
            replace_when_failed=self.shape != "kubeflow-unfenced",
            keeps_floor=self.keeps_floor,
            presume_after_s=self.presume_after_s,
            nodes=("k1", "k2", "k3"),
        )

    def _spec(self, draws: Draws) -> JobSpec:
        return JobSpec(
            cluster="sim",
            run=Run(command=("train",)),
            nodes=1 + draws.below(2),
            attempts_max=3 - draws.below(3),
            unmatched=(Unmatched.GIVE_UP, Unmatched.MANUAL)[draws.below(4) == 3],
            start_within=(None, 120)[draws.below(4) == 3],
            hold=(None, "look first")[draws.below(8) == 7],
        )

    def _plan(self, draws: Draws) -> RecoveryPlan:
        in_place = self.shape in ("slurm-plain", "slurm-beside") and draws.below(2) == 0
        backoff = Backoff(first=(0.0, 5.0, 60.0)[draws.below(3)], factor=2.0, max=120.0)
        retry = PlanRule(
            name="retry",
            on=(CauseKind.PREEMPTED, CauseKind.NODE_LOST, CauseKind.EXIT_CODE, CauseKind.LAUNCH_FAILED),
            do=PlanAction.REQUEUE if in_place else PlanAction.RESUBMIT,
            budget=1 + draws.below(3),
            backoff=backoff,
            avoid_nodes=draws.below(4) == 3,
            when_spent=(WhenSpent.GIVE_UP, WhenSpent.NEXT, WhenSpent.HOLD)[draws.below(3)],
        )
        rest = PlanRule(name="rest", on=(ANY,), do=(PlanAction.GIVE_UP, PlanAction.HOLD)[draws.below(3) == 2])
        return RecoveryPlan(rules=(retry, rest), fast_fail=FastFail(off=draws.below(4) < 3))


def _known(asked: str, names: Collection[str]) -> str:
    if asked not in names:
        raise ValueError(f"{asked} is none of {', '.join(names)}")
    return asked
