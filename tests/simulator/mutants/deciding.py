"""Bugs planted in what follows from a record and a Find: launch, gate, requeue, holds."""

from __future__ import annotations

from tests.simulator.mutants.plant import Edit, Mutant

GATE = "dispatch.next_steps.gate"
LAUNCH = "dispatch.next_steps.launch"
HOLDS = "dispatch.next_steps.holds"
RECOVER = "dispatch.next_steps.recover"
STOP = "dispatch.next_steps.stop"
SLURM = ("slurm", "slurm-plain", "slurm-fenced")
KUBE = ("kubeflow-unfenced", "kubeflow", "kueue")
OTHERS = "o.ref != held.ref and not o.ignored"

DECIDING = (
    Mutant(
        name="canonical-recomputed",
        rule="the canonical object is chosen once",
        edits=(
            Edit(f"{LAUNCH}:launch", "newest.canonical is not None or ", ""),
            Edit(f"{LAUNCH}:launch", "    if shown:\n", "    if shown and shown[0][1] != newest.canonical:\n"),
            Edit(f"{STOP}:_retire_reason", "    if submission.canonical is not None:\n", "    if False:\n"),
        ),
        laws=("L8",),
    ),
    Mutant(
        name="attempts-without-limit",
        rule="attempts never exceed what the job allows",
        edits=(
            Edit(
                f"{LAUNCH}:_tries_left",
                "return len([a for a in newest.attempts if not a.made_nothing]) < situation.spec.attempts_max",
                "return True",
            ),
        ),
        laws=("L7",),
    ),
    Mutant(
        name="given-up-before-its-start-is-over",
        rule="an attempt is given up once its Start can no longer land",
        edits=(Edit(f"{LAUNCH}:give_up", " or situation.as_of < attempt.over_at", ""),),
        laws=("L9",),
        theme="starts",
        marked=True,
    ),
    Mutant(
        name="closed-submission-goes-on",
        rule="a submission that was given up is closed: its objects are retired on sight",
        edits=(
            Edit(
                "projections.record:Record.closed",
                "    if submission.canonical",
                "    return False\n    if submission.canonical",
            ),
        ),
        laws=("liveness", "L1"),
        marked=True,
    ),
    Mutant(
        name="retire-skipped",
        rule="every other object of a submission is retired and stopped",
        edits=(Edit(f"{STOP}:retire", "    steps = []\n", "    return ()\n    steps = []\n"),),
        laws=("liveness", "L4"),
    ),
    Mutant(
        name="gate-by-recorded-ends",
        rule="this pass's own Find shows every other object ended",
        edits=(
            Edit(
                "dispatch.situation:Situation.ended",
                "return seen.phase is Phase.ENDED and held.ended",
                "return held.accounted or any(r.ended for r in held.runs)",
            ),
            Edit(f"{GATE}:_unproven", "for r in o.unproven]", "for r in o.unproven if r.ended]"),
        ),
        laws=("L4",),
        theme="again",
        marked=True,
    ),
    Mutant(
        name="absence-taken-as-ended",
        rule="an absent object is not ended",
        edits=(Edit("dispatch.situation:Situation.ended", "return held.accounted\n", "return True\n"),),
        laws=("L9", "L4"),
    ),
    Mutant(
        name="completing-taken-as-ended",
        rule="an object that is ending is not ended",
        edits=(
            Edit(
                "dispatch.situation:Situation.ended",
                "seen.phase is Phase.ENDED and held.ended",
                "seen.phase in (Phase.ENDED, Phase.ENDING)",
            ),
            Edit(f"{GATE}:_unproven", "for r in o.unproven]", "for r in o.unproven if r.ended]"),
        ),
        laws=("L4",),
        theme="requeue",
    ),
    Mutant(
        name="gate-ignores-earlier-submissions",
        rule="the gate waits for the objects of every submission",
        edits=(Edit(f"{GATE}:_others", OTHERS, OTHERS + " and o.submission == held.submission"),),
        laws=("L4",),
    ),
    Mutant(
        name="gate-ignores-duplicates",
        rule="the gate waits for every other object of its own submission",
        edits=(
            Edit(f"{GATE}:_others", OTHERS, OTHERS + " and o.submission != held.submission"),
            Edit(f"{GATE}:_duplicates_retired", "and not o.retired", "and False"),
        ),
        laws=("L4",),
    ),
    Mutant(
        name="gate-ignores-foreign-objects",
        rule="a foreign object keeps the gate shut until a person disposed of it",
        edits=(
            Edit(f"{GATE}:_others", OTHERS, OTHERS + " and not o.foreign"),
            Edit(f"{GATE}:_others_ended", "if ref not in situation.record.objects and", "if False and"),
        ),
        laws=("L4",),
    ),
    Mutant(
        name="gate-ignores-processes",
        rule="the gate waits until the processes of every other object are gone",
        edits=(Edit(f"{GATE}:_others_gone", "_unproven(_others(situation, held))", "[]"),),
        laws=("L4",),
        theme="back",
        marked=True,
    ),
    Mutant(
        name="gate-ignores-earlier-runs",
        rule="a requeued object is opened after its earlier execution is proven gone",
        edits=(Edit(f"{GATE}:_earlier_runs_gone", "if r.run < run or r.ended", "if False"),),
        laws=("L4",),
        shapes=("slurm-plain", "slurm", "slurm-fenced"),
        theme="back",
        marked=True,
    ),
    Mutant(
        name="unknown-processes-taken-as-gone",
        rule="what may run keeps the gate shut",
        edits=(
            Edit(
                "projections.sightings:_gone",
                "    if run.answer is CessationAnswer.CEASED:\n",
                "    if run.answer is not None:\n",
            ),
        ),
        laws=("L4", "L3"),
        theme="back",
        marked=True,
    ),
    Mutant(
        name="gate-ignores-requeues-and-their-ends",
        rule="requeue calls are over before the Find that the gate is opened by",
        edits=(
            Edit(f"{GATE}:_requeues_over", "not c.over(situation.as_of)", "False"),
            Edit("projections.sightings:_end_stands", "    return all(", "    return True or all("),
        ),
        laws=("L4",),
        shapes=("slurm-plain",),
        theme="resubmitted",
        steps=600,
        marked=True,
    ),
    Mutant(
        name="requeue-while-an-open-may-land",
        rule="a requeue is sent only when every Open and release of its object is over",
        edits=(
            Edit(
                f"{RECOVER}:_requeue_free",
                "    if not calls.over(situation, intent.object, *opening):\n",
                "    if False:\n",
            ),
        ),
        laws=("L1", "L4"),
        shapes=("slurm", "slurm-plain"),
        theme="reopened",
        steps=500,
        marked=True,
    ),
    Mutant(
        name="budget-key-reused",
        rule="one end pays for one retry: a key is used once",
        edits=(
            Edit(f"{RECOVER}:_resubmit", 'key = f"{rule.name}/{end.key}"', 'key = f"{rule.name}/1.0"'),
            Edit(f"{RECOVER}:_resubmit", "    if ends.has_paid(situation, rule, end.key):\n", "    if False:\n"),
        ),
        laws=("L7",),
    ),
    Mutant(
        name="gate-opens-while-held",
        rule="the gate stays shut while any hold is in force",
        edits=(Edit(f"{GATE}:_wanted", "for h in record.in_force]", "for h in ()]"),),
        laws=("L10",),
        marked=True,
    ),
    Mutant(
        name="hold-placed-while-an-earlier-call-may-land",
        rule="a new hold goes onto an object only after every call of an earlier one is over; with it: it is judged then",
        edits=(
            Edit(
                f"{HOLDS}:_place",
                "    if not calls.over(situation, held.ref, *CHANGES_HOLD):\n        return ()\n    able",
                "    able",
            ),
            Edit(
                "projections.intents:_judge_holds",
                "    if not all(c.over_before(look.as_of, look.read_revision) for c in changing):\n",
                "    if False:\n",
            ),
        ),
        laws=("L10",),
        theme="held",
        marked=True,
    ),
    Mutant(
        name="released-while-a-hold-may-land",
        rule="a hold is reported released after every call that could place it is over",
        edits=(Edit("projections.intents:_judge_holds", "Verb.ADMIT, Verb.HOLD, Verb", "Verb.ADMIT, Verb"),),
        laws=("L10",),
        shapes=SLURM,
        theme="holds",
    ),
    Mutant(
        name="release-while-another-hold-is-in-force",
        rule="no release call is sent while another instance is in force",
        edits=(
            Edit(
                f"{HOLDS}:hold_calls",
                "        return _place(situation, held)\n",
                "        return _release(situation, held) or _place(situation, held)\n",
            ),
            Edit("projections.intents:_judge_holds", "bool(record.in_force) or ", ""),
            Edit(
                f"{HOLDS}:_release",
                'if c.name != "lifted holds are released"',
                'if c.name not in ("lifted holds are released", "the job is meant to run")',
            ),
        ),
        laws=("L10", "L1"),
        theme="re-held",
        marked=True,
    ),
    Mutant(
        name="release-sent-at-the-gate",
        rule="where gate and hold are one bit, a release at the gate is only recorded",
        edits=(
            Edit(
                f"{HOLDS}:_release",
                "    if gate.is_the_hold(situation, held):\n",
                "    if False:\n",
            ),
            Edit(f"{HOLDS}:_release", "not lifted or not may_carry_our_hold(situation.record, held.ref)", "not lifted"),
            Edit("projections.intents:_judge_holds", " or not bit or not may_carry_our_hold(record, held.ref)", ""),
        ),
        laws=("L1", "L10"),
        shapes=SLURM,
        marked=True,
    ),
    Mutant(
        name="admission-number-not-raised",
        rule="each committed admission has an A of its own",
        edits=(
            Edit(
                f"{GATE}:next_run",
                "    return max([seen.run, *(r.run + 1 for r in held.runs if r.authorized or r.ended)])\n",
                "    return seen.run\n",
            ),
        ),
        laws=("L7",),
        shapes=KUBE,
        marked=True,
    ),
    Mutant(
        name="ended-object-not-stopped",
        rule="an ended object that can run again is stopped, and the next gate waits for it",
        edits=(
            Edit(f"{STOP}:_again", "    return Reason.CAN_RUN_AGAIN\n", "    return None\n"),
            Edit(f"{GATE}:_runs_again", "        situation.capabilities.ended_runs_again\n", "        False\n"),
            Edit(
                "projections.settled:_ended",
                "capabilities.ended_runs_again and not sighting.end_final",
                "False",
            ),
            Edit(
                "adapters.simulated.kubeflow_calls:KubeflowCalls.ceased",
                "gone = (job.closed or",
                "gone = (job.closed or job.ended is not None or",
            ),
        ),
        laws=("L1", "L4", "L3"),
        theme="again",
        shapes=("kubeflow-unfenced", "kubeflow"),
        marked=True,
    ),
    Mutant(
        name="unauthorized-run-not-stopped",
        rule="a run without a committed open is stopped",
        edits=(
            Edit(f"{STOP}:unauthorized", "    if seen.phase not in (Phase.QUEUED, Phase.RUNNING):\n", "    if True:\n"),
        ),
        laws=("L1",),
    ),
    Mutant(
        name="stop-verified-by-absence",
        rule="absence alone verifies nothing",
        edits=(
            Edit(f"{STOP}:_verified_by", "    begun = [", "    return StopBasis.STOP_DONE_AND_ABSENT\n    begun = ["),
        ),
        laws=("L9", "L3", "L4"),
    ),
    Mutant(
        name="stop-verified-by-an-unanswered-stop",
        rule="a stop counts once it was answered done",
        edits=(Edit(f"{STOP}:_verified_by", "any(c.done and ", "any("),),
        laws=("L9", "L3", "L4", "L2"),
        theme="gone",
    ),
    Mutant(
        name="condemned-object-run-again",
        rule="no call brings to run what a person had stopped or ignored",
        edits=(
            Edit(
                "projections.objects:ObjectRecord.off_limits",
                "return self.retired or self.disposition in (Disposition.IGNORE, Disposition.STOP)",
                "return self.retired",
            ),
        ),
        laws=("L1",),
    ),
)
