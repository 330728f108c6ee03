"""The scheduler's side as the history last recorded it: for reading where no scheduler can be asked.

Never evidence and never a ground for a decision: a real Find may show more. Whoever tells people from it says so.
"""

from __future__ import annotations

from projections.record import ObjectRecord, Record
from streams.messages.calls import Capabilities
from streams.messages.spec import JobSpec
from streams.messages.values import Found, Phase, Sighting


def last_recorded_find(record: Record) -> Found | None:
    """A Found made of what the record holds, dated by the newest Find it holds; None if none was ever recorded.

    Objects that were missing from that Find are not shown; the rest is as it was last seen.
    """
    if record.as_of is None:
        return None
    shown = tuple(_sighting(o) for o in record.objects.values() if o.as_of is not None and not o.missing)
    return Found(as_of=record.as_of, sightings=shown)


def _sighting(held: ObjectRecord) -> Sighting:
    return Sighting(
        object=held.ref,
        tag=held.tag,
        run=held.run,
        phase=held.phase,
        hold=held.hold,
        cause=held.cause,
        end_final=held.end_final,
        ranks_done=held.ranks_done,
        nodes=held.nodes,
    )


def presumed_capabilities(spec: JobSpec) -> Capabilities:
    """What a cluster of the kind that this spec names can usually do, where no agent can be asked."""
    if spec.kubeflow is not None:
        kueue = spec.kubeflow.mode == "kueue"
        return Capabilities(
            kind="kueue" if kueue else "kubeflow",
            call_bound_s=65.0,
            call_deadline_s=15.0,
            first_run=1,
            gate_is_hold=not kueue,
            queues_gated=kueue,
            hold_ends_run=True,
            release_begins_run=not kueue,
            requeue_of=(Phase.RUNNING,),
            ended_runs_again=True,
        )
    if spec.slurm is not None:
        return Capabilities(kind="slurm", call_bound_s=420.0, gate_is_hold=True, requeue_of=(Phase.RUNNING,))
    return Capabilities(kind="", call_bound_s=60.0, limit_min_s=1, warning_min_s=1)
