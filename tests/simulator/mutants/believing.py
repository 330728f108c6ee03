"""Bugs planted in what is believed: a person's word on processes and whose they are, and what could not be read."""

from __future__ import annotations

from tests.simulator.mutants.plant import Edit, Mutant

SLURM = ("slurm", "slurm-plain", "slurm-fenced", "slurm-beside")
SETTLED = "projections.settled:_processes_gone"
GATE = "dispatch.next_steps.gate"

BELIEVING = (
    Mutant(
        name="one-attested-node-counts-for-all",
        rule="a person's word covers only the nodes that it names",
        edits=(
            Edit(
                "projections.sightings:_gone",
                "return bool(run.attested) and not waiting_nodes(run)",
                "return bool(run.attested)",
            ),
        ),
        laws=("L3", "L4"),
        theme="attested",
        shapes=SLURM,
    ),
    Mutant(
        name="others-gone-ignores-foreign",
        rule="the gate waits until the processes of every other object are gone, of a foreign one too",
        edits=(
            Edit(
                f"{GATE}:_others_gone",
                "_unproven(_others(situation, held))",
                "_unproven([o for o in _others(situation, held) if not o.foreign])",
            ),
        ),
        laws=("L4",),
        theme="left-behind",
        shapes=SLURM,
    ),
    Mutant(
        name="settled-ignores-foreign-processes",
        rule="settlement waits for proof that the processes of a foreign object are gone too",
        edits=(Edit(SETTLED, "        if not held.ignored\n", "        if not held.ignored and not held.foreign\n"),),
        laws=("L3",),
        theme="left-behind",
        shapes=SLURM,
    ),
    Mutant(
        name="settled-ignores-runs-nobody-opened",
        rule="settlement waits for proof that the processes of every run are gone, whoever began it",
        edits=(
            Edit(SETTLED, "        for run in held.unproven\n", "        for run in held.unproven if run.authorized\n"),
        ),
        laws=("L3",),
        theme="comes-back",
        shapes=SLURM,
    ),
    Mutant(
        name="earlier-runs-gone-ignores-runs-nobody-opened",
        rule="the gate waits until every earlier run of its object is gone, whoever began it",
        edits=(
            Edit(
                f"{GATE}:_earlier_runs_gone",
                "if r.run < run or r.ended",
                "if (r.run < run or r.ended) and r.authorized",
            ),
        ),
        laws=("L4",),
        theme="own-way",
        shapes=SLURM,
    ),
    Mutant(
        name="unknown-field-refused",
        rule="an event of which only a field is unknown is read as what it is",
        edits=(
            Edit(
                "streams.codec:_read_event",
                "        envelope = _envelopes.decode(data)\n",
                "        envelope = _envelopes.decode(data)\n"
                "        told = msgspec.json.decode(data)['event'].keys() - {'type'}\n"
                "        if not told <= set(envelope.event.__struct_fields__):\n"
                "            raise msgspec.ValidationError('Object contains an unknown field')\n",
            ),
        ),
        laws=("L15",),
        theme="later-releases",
    ),
    Mutant(
        name="one-waiver-waives-all",
        rule="a person waives the one message that is named",
        edits=(Edit("projections.evolve:_disposed", "record.waived | {target.revision}", "frozenset(range(1 << 10))"),),
        laws=("L14",),
        theme="gone-back",
    ),
)
