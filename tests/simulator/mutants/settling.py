"""Bugs planted in how a cancel is carried out, and in what settlement waits for; and in the fold."""

from __future__ import annotations

from tests.simulator.mutants.plant import Edit, Mutant

SETTLED = "projections.settled"
CANCEL = "dispatch.next_steps.cancel"
INTENTS = "projections.intents"


def _clause(name: str) -> tuple[Edit, ...]:
    """One clause of settlement that always holds."""
    return (Edit(f"{SETTLED}:settled", f"        {name},\n", f"        Clause('{name[1:8]}', True),\n"),)


SETTLING = (
    Mutant(
        name="cancel-does-not-bind",
        rule="nothing is authorized after a cancel",
        edits=(
            Edit(
                "projections.record:Record.over",
                "return self.cancel is not None or self.outcome is not None",
                "return self.outcome is not None",
            ),
        ),
        laws=("L2", "liveness"),
    ),
    Mutant(
        name="cancel-without-second-stop",
        rule="a second stop by name follows once nothing can land any more",
        edits=(
            Edit(
                f"{INTENTS}:after_find",
                "    second = record.calls.get(cancel.second) if cancel.second is not None else None\n",
                "    last = cancel.first if cancel.second is None else cancel.second\n"
                "    second = record.calls.get(last) if last is not None else None\n",
            ),
            Edit(f"{INTENTS}:after_find", "second.done and calls_over and", "second.done and"),
            Edit("projections.sightings:_end_stands", "    return all(", "    return True or all("),
        ),
        laws=("L2",),
        steps=600,
        theme="called-off",
        shapes=("slurm-plain",),
        marked=True,
    ),
    Mutant(
        name="clean-up-complete-without-a-find",
        rule="the clean-up is complete when a Find begun after the second stop shows every object ended",
        edits=(Edit(f"{INTENTS}:all_accounted", "    return all(", "    return True or all("),),
        laws=("L2", "L3", "liveness"),
        theme="slow",
        marked=True,
    ),
    Mutant(
        name="clean-up-complete-while-a-start-may-land",
        rule="the clean-up waits for every Start",
        edits=(Edit(f"{INTENTS}:start_over", "    return attempt.object", "    return True or attempt.object"),),
        laws=("L2", "L3"),
        steps=500,
        theme="started",
        marked=True,
    ),
    Mutant(
        name="settled-while-a-start-may-land",
        rule="every Start is matched, clearly refused or over",
        edits=(
            *_clause("_starts_over(record, found)"),
            *_clause("_none_stuck(record)"),
            *_clause("_cancel_complete(record)"),
        ),
        laws=("L3",),
        steps=500,
        theme="started",
        marked=True,
    ),
    Mutant(
        name="settled-while-a-call-may-land",
        rule="every call is over",
        edits=(*_clause("_calls_over(record, found)"), *_clause("_cancel_complete(record)")),
        laws=("L3",),
        steps=500,
        theme="clean-up",
    ),
    Mutant(
        name="settled-beside-a-foreign-object",
        rule="no foreign object is undisposed",
        edits=(*_clause("_no_foreign(record, shown)"),),
        laws=("L3",),
    ),
    Mutant(
        name="settled-beside-an-unmatched-attempt",
        rule="under manual, no attempt is unmatched",
        edits=(*_clause("_none_unmatched(record)"), *_clause("_none_stuck(record)")),
        laws=("L3",),
    ),
    Mutant(
        name="settled-while-processes-may-live",
        rule="settlement waits for proof that the processes are gone",
        edits=(*_clause("_processes_gone(record)"),),
        laws=("L3",),
        theme="nodes",
    ),
    Mutant(
        name="settled-by-recorded-ends",
        rule="every object in the latest Find has ended; with it: what is seen alive again has not",
        edits=(
            Edit(f"{SETTLED}:_ended", "sighting.phase is not Phase.ENDED or not held.ended", "not held.ended"),
            Edit("projections.sightings:see", "        ended=seen.phase", "        ended=held.ended or seen.phase"),
        ),
        laws=("L3",),
        shapes=("slurm", "slurm-plain", "slurm-fenced"),
        theme="comes-back",
    ),
    Mutant(
        name="settled-without-the-find",
        rule="every object ever recorded has ended",
        edits=(*_clause("_ended(record, shown, capabilities)"),),
        laws=("L3",),
        shapes=("slurm", "slurm-plain", "slurm-fenced"),
        theme="comes-back",
    ),
    Mutant(
        name="end-seen-before-a-requeue-was-over",
        rule="an end counts only from a Find begun after every requeue of the object was over",
        edits=(
            Edit("projections.sightings:_end_stands", "    return all(", "    return True or all("),
            Edit(
                "projections.record:CallRecord.over",
                "return self.closed or as_of >= self.over_at",
                "return self.closed or as_of >= self.deadline_at",
            ),
        ),
        laws=("L3", "L2", "L4", "L10", "L9"),
        steps=600,
        theme="in-place",
        shapes=("slurm-plain", "slurm"),
        marked=True,
    ),
    Mutant(
        name="evidence-covers-a-later-execution",
        rule="word on a run's processes never covers a later execution",
        edits=(
            Edit(
                "projections.sightings:_run_after",
                "run.word_as_of is not None and look.as_of > run.word_as_of and _takes_back(run, seen)",
                "False",
            ),
            Edit(
                "projections.sightings:see",
                "    if again and not (held.alive_again and held.run == seen.run):\n",
                "    if False:\n",
            ),
            Edit(
                "projections.sightings:cease", "run.again_as_of is not None and event.as_of <= run.again_as_of", "False"
            ),
            Edit(
                f"{INTENTS}:_opened",
                "(held.run_record(run) or RunRecord(run=run)).unspoken",
                "held.run_record(run) or RunRecord(run=run)",
            ),
        ),
        laws=("L4", "L3"),
        steps=600,
        shapes=("kueue",),
        theme="re-admitted",
        marked=True,
    ),
    Mutant(
        name="older-look-overwrites-newer",
        rule="an older look never overwrites a newer one",
        edits=(
            Edit(
                "projections.sightings:see",
                "held.as_of is not None and (look.as_of < held.as_of or",
                "held.as_of is not None and (False or",
            ),
        ),
        laws=("L4", "L3", "L9", "L2", "L6", "L1", "liveness"),
        steps=450,
        shapes=("slurm", "slurm-plain", "slurm-fenced"),
        theme="late-looks",
    ),
    Mutant(
        name="hold-judged-while-a-call-may-land",
        rule="a hold is reported placed, or released, after every call that could change it is over",
        edits=(
            Edit(
                f"{INTENTS}:_judge_holds",
                "    if not all(c.over_before(look.as_of, look.read_revision) for c in changing):\n",
                "    if False:\n",
            ),
        ),
        laws=("L10",),
        theme="held",
        marked=True,
    ),
    Mutant(
        name="repeated-event-folded-twice",
        rule="a repeated id is dropped by the fold",
        edits=(Edit("projections.evolve:evolve", "    if content.id in record.ids:\n", "    if False:\n"),),
        laws=("L7",),
        theme="repeated",
    ),
)
