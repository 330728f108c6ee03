"""Bugs planted in when a job is looked at again (`dispatch/due.py`): what falls due waits for the next safety net.

Terms that hardly ever come first here are left to tests/unit/dispatch/test_due.py: a refused Start or stop, a run that
must have begun, accounting that must have answered, a brake, processes that count as gone.
"""

from __future__ import annotations

from tests.simulator.mutants.plant import Edit, Mutant

DUE = "dispatch.due"
TOLD_LATE = ("L13", "liveness")

LOOKING = (
    Mutant(
        name="no-look-when-a-retry-may-begin",
        rule="a look is due when a retry's backoff is over",
        edits=(Edit(f"{DUE}:_own_times", "times.append(newest.not_before_at)", "pass"),),
        laws=TOLD_LATE,
        theme="lost",
    ),
    Mutant(
        name="no-look-when-a-requeue-may-be-sent",
        rule="a look is due when a requeue's backoff is over",
        edits=(Edit(f"{DUE}:_own_times", "times.append(last.not_before_at)", "pass"),),
        laws=TOLD_LATE,
        theme="back",
        shapes=("slurm-plain", "slurm-beside"),
    ),
    Mutant(
        name="no-look-when-a-call-is-over",
        rule="a look is due when a call can land no more, or may be sent again",
        edits=(Edit(f"{DUE}:_of_calls", "calls.repeat_at(call) if over else call.over_at", "call.deadline_at"),),
        laws=TOLD_LATE,
        theme="late",
    ),
    Mutant(
        name="no-look-when-a-start-is-over",
        rule="a look is due when a Start without a clear reply can land no more",
        edits=(Edit(f"{DUE}:_of_starts", "(a.deadline_at, a.over_at)", "()"),),
        laws=TOLD_LATE,
        theme="starts",
    ),
    Mutant(
        name="no-look-but-at-what-is-known-to-come",
        rule="a job is looked at now and then, whatever is known to come",
        edits=(
            Edit(
                f"{DUE}:due_at",
                "    times = [poll,",
                "    poll = situation.now + timedelta(days=9)\n    times = [poll,",
            ),
        ),
        laws=TOLD_LATE,
    ),
)
