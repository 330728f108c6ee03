"""Given a story, when a pass Finds what the story last saw: the situation, and the steps that follow from it.

    story, ref = launched()
    assert event_of(story) == opened(ref)

A Find shows what the story recorded last, as it does once its evidence was appended; `hides` and `shows` differ.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypeVar

from dispatch.next_steps import next_steps
from dispatch.situation import Situation, Step
from projections.controls import Controls
from projections.evolve import empty, fold
from projections.record import Record
from projections.recorded import last_recorded_find
from streams.messages.calls import Capabilities
from streams.messages.events import CallCommitted
from streams.messages.reasons import Reason
from streams.messages.values import Found, ObjectRef, Phase, Sighting, Verb
from tests.unit.projections.story import CALL_BOUND_S, Story

T = TypeVar("T")

SLURM = Capabilities(
    kind="slurm", call_bound_s=CALL_BOUND_S, gate_is_hold=True, requeue_of=(Phase.RUNNING,), find_every_s=30
)
REQUEUES_ENDED = Capabilities(
    kind="slurm", call_bound_s=CALL_BOUND_S, gate_is_hold=True, requeue_of=(Phase.RUNNING, Phase.ENDED)
)
LOCAL = Capabilities(
    kind="local", call_bound_s=5, requeue_of=(Phase.RUNNING, Phase.ENDED), limit_min_s=1, warning_min_s=1
)
PLAIN = Capabilities(
    kind="kubeflow",
    call_bound_s=65,
    call_deadline_s=15,
    first_run=1,
    gate_is_hold=True,
    hold_ends_run=True,
    release_begins_run=True,
    requeue_of=(Phase.RUNNING,),
    ended_runs_again=True,
)
KUEUE = Capabilities(
    kind="kueue",
    call_bound_s=65,
    call_deadline_s=15,
    first_run=1,
    queues_gated=True,
    hold_ends_run=True,
    requeue_of=(Phase.RUNNING,),
    ended_runs_again=True,
)


def record_of(story: Story) -> Record:
    """The story folded."""
    return fold(empty(story.tenant, story.job), story.entries)


def situation(
    story: Story,
    able: Capabilities = SLURM,
    *,
    hides: tuple[ObjectRef, ...] = (),
    shows: tuple[Sighting, ...] = (),
    controls: Controls = Controls(),  # noqa: B008  frozen
) -> Situation:
    """The pass that Finds now, at the story's time, everything the story knows."""
    record = record_of(story)
    last = last_recorded_find(record)
    known = last.sightings if last is not None else ()
    instead = {s.object for s in shows}
    found = Found(as_of=story.at, sightings=(*(s for s in known if s.object not in {*hides, *instead}), *shows))
    return Situation(
        record=record,
        found=found,
        capabilities=able,
        controls=controls,
        installation="main",
        asked_at=story.at,
        now=story.at,
    )


def steps(story: Story, able: Capabilities = SLURM, **looks: Any) -> tuple[Step, ...]:
    """Every step that may be taken now."""
    return next_steps(situation(story, able, **looks))


def told(story: Story, able: Capabilities = SLURM, **looks: Any) -> list[tuple[str, Reason]]:
    """The steps by name, each with its reason; a call by its verb."""
    return [(_name(step), step.reason) for step in steps(story, able, **looks)]


def _name(step: Step) -> str:
    return step.event.verb.value if isinstance(step.event, CallCommitted) else type(step.event).__name__


def calls(story: Story, verb: Verb, able: Capabilities = SLURM, **looks: Any) -> list[CallCommitted]:
    """The calls of this verb that may be committed now."""
    found = [step.event for step in steps(story, able, **looks)]
    return [event for event in found if isinstance(event, CallCommitted) and event.verb is verb]


def opens(story: Story, able: Capabilities = SLURM, **looks: Any) -> list[tuple[ObjectRef | None, int | None]]:
    """Which object's gate may be opened now, for which run."""
    return [(call.object, call.run) for call in calls(story, Verb.OPEN, able, **looks)]


def only(kind: type[T], story: Story, able: Capabilities = SLURM, **looks: Any) -> T:
    """The one event of this type among the steps."""
    found = [step.event for step in steps(story, able, **looks) if isinstance(step.event, kind)]
    assert len(found) == 1, told(story, able, **looks)
    return found[0]


def seconds(count: float) -> timedelta:
    """A span of the story's time."""
    return timedelta(seconds=count)
