"""What a replica counts has a bounded number of labels, whatever names people type."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry

from dispatch.replica.metrics import Metrics
from streams import subjects
from streams.messages.events import ControlsSet, Entry, Envelope
from streams.messages.reasons import Reason

AT = datetime(2026, 1, 5, tzinfo=UTC)


def controls(revision: int, cluster: str, until: datetime | None) -> Entry:
    event = ControlsSet(cluster=cluster, brake_until_at=until)
    envelope = Envelope(
        id=f"{revision:026}",
        tenant="nlp",
        job=subjects.CONTROLS,
        expected=revision - 1,
        at=AT,
        by="replica:sv-b",
        event=event,
        reason=Reason.BRAKE_TRIPPED,
    )
    return Entry(tenant="nlp", job=subjects.CONTROLS, revision=revision, stored_at=AT, content=envelope)


def brakes(registry: CollectorRegistry) -> dict[str, float]:
    name = "dispatch_brake_until_timestamp_seconds"
    return {s.labels["cluster"]: s.value for f in registry.collect() for s in f.samples if s.name == name}


def test_controls_of_a_cluster_whose_brake_was_never_pulled_make_no_label() -> None:
    metrics = Metrics("sv-a")
    for number in range(100):
        metrics.seen(controls(number + 1, f"typo-{number}", None))
    assert brakes(metrics.registry) == {}


def test_a_brake_that_was_lifted_is_told_as_lifted() -> None:
    metrics = Metrics("sv-a")
    until = AT + timedelta(minutes=15)
    metrics.seen(controls(1, "hpc2", until))
    assert brakes(metrics.registry) == {"hpc2": until.timestamp()}
    metrics.seen(controls(2, "hpc2", None))
    assert brakes(metrics.registry) == {"hpc2": 0.0}
