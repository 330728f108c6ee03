"""Bugs planted in what keeps two owners of one job apart, and in what a supervisor holds between its passes."""

from __future__ import annotations

from tests.simulator.mutants.acting import ACT, APPENDED
from tests.simulator.mutants.plant import Edit, Mutant

OWNING = (
    Mutant(
        name="refused-decision-again-unread",
        rule="a decision that was refused is made anew, from what its maker has read",
        edits=(
            Edit(
                f"{ACT}:decide",
                APPENDED,
                "    import msgspec\n"
                "    try:\n        revision = await hands.history.append(stored)\n"
                "    except ConflictError as error:\n"
                "        stored = msgspec.structs.replace(stored, id=hands.new_id(), expected=error.current or 0)\n"
                "        revision = await hands.history.append(stored)\n"
                "    return _after(record, stored, revision)\n",
            ),
        ),
        laws=("L12",),
    ),
    Mutant(
        name="own-evidence-not-folded",
        rule="what a supervisor holds is the fold of the history, its own events included",
        edits=(
            Edit(
                f"{ACT}:_after",
                "    return fold(record, (entry,))\n",
                "    import msgspec\n"
                "    if isinstance(stored.event, SeenEvent):\n"
                "        return msgspec.structs.replace(record, revision=revision)\n"
                "    return fold(record, (entry,))\n",
            ),
        ),
        laws=("L11",),
    ),
)
