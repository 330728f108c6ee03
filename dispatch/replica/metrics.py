"""What a replica counts, for Prometheus. Nothing here is ever read for a decision; each replica counts for itself.

Label values are words of ours, clusters that were given or have answered, and places where a brake was pulled, so
their number is bounded; a job's name is never one, nor a cluster's that someone merely typed.
docs/how-to/alerts.md says what to alert on.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

from dispatch.supervisor import Pass
from projections.fleet import FleetEntry, Name
from projections.status import Alert
from streams.messages.commands import VERBS
from streams.messages.events import ControlsSet, Entry, Envelope
from streams.messages.receipts import Receipt

QUICK_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
SLOW_S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 90.0)
OTHER_VERB = "other"


class Metrics:
    """Every instrument of one replica, in a registry of its own."""

    def __init__(self, replica: str = "") -> None:
        self.registry = CollectorRegistry()
        self._replica = f"replica:{replica}"
        self._standing: dict[Name, tuple[tuple[Alert, ...], int]] = {}
        self._brakes: set[tuple[str, str]] = set()
        self._make_bus()
        self._make_work()
        self._make_fleet()

    def _make_bus(self) -> None:
        self._appends = self._counter("appends", "Events given to the history, by what became of them", "outcome")
        self._append_s = self._histogram("append_seconds", "From an event to its revision", QUICK_S)
        self._revision = self._gauge("history_revision", "The last revision of the history that was followed")
        self._live = self._gauge(
            "replicas_live", "Replicas at work whose heartbeat is on the bus; one that drains or observes is none"
        )
        self._shards = self._gauge("shards_first", "Shards that this replica comes first for")
        self._reconnects = self._gauge("bus_reconnects", "How often the connection to the bus came back")
        self._info = Info("dispatch", "Which replica this is", registry=self.registry)

    def _make_work(self) -> None:
        self._passes = self._counter("passes", "Passes over a job, by how they ended", "result")
        self._pass_s = self._histogram("pass_seconds", "From a wake-up in hand to its next timer", SLOW_S)
        self._faults = self._counter("faults", "Passes that ended in a fault of dispatch itself")
        self._wake_ups = self._counter("wake_ups", "Wake-ups taken in hand")
        self._commands = self._counter("commands", "Commands answered", "verb", "answer")
        self._displaced = self._counter("displaced", "Times the bus did not confirm that a message is still in hand")
        self._calls = self._counter("calls", "Calls to a cluster, by outcome", "cluster", "verb", "outcome")
        self._find_s = self._histogram("find_seconds", "How long a cluster took for a Find", SLOW_S, "cluster")
        self._find_at = self._gauge(
            "last_good_find_timestamp_seconds", "When the cluster last answered a Find; 0: never", "cluster"
        )
        self._in_hand = self._gauge("in_hand", "Passes and calls that are on now", "what")
        self._draining = self._gauge("draining", "1 once this replica was told to stop")

    def _make_fleet(self) -> None:
        self._open = self._gauge("jobs_open", "Jobs that are not settled, as this replica knows them")
        self._held = self._gauge("records_held", "Folds kept in memory between passes")
        self._alerted = self._gauge("jobs_alerted", "Jobs that this replica looked at last and that bear it", "alert")
        self._raised = self._counter("alerts_raised", "Alerts that came to stand beside a job", "alert")
        self._unmatched = self._gauge("attempts_unmatched", "Starts that are over and were never matched to an object")
        self._braked = self._gauge(
            "brake_until_timestamp_seconds", "Until when the brake stands; 0: it does not", "tenant", "cluster"
        )
        for alert in Alert:
            self._raised.labels(alert.value)
            self._alerted.labels(alert.value).set_function(self._count_of(alert))
        self._unmatched.set_function(lambda: sum(unmatched for _, unmatched in self._standing.values()))

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"dispatch_{name}", about, labels, registry=self.registry)

    def _gauge(self, name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"dispatch_{name}", about, labels, registry=self.registry)

    def _histogram(self, name: str, about: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"dispatch_{name}", about, labels, buckets=buckets, registry=self.registry)

    def _count_of(self, alert: Alert) -> Callable[[], float]:
        return lambda: sum(alert in alerts for alerts, _ in self._standing.values())

    # the bus

    def appended(self, outcome: str, took_s: float) -> None:
        """One append: `stored`, or the word of `measured.OUTCOMES` for what was raised."""
        self._appends.labels(outcome).inc()
        self._append_s.observe(took_s)

    def beat(self, *, live: int, shards: int, reconnects: int, draining: bool) -> None:
        self._live.set(live)
        self._shards.set(shards)
        self._reconnects.set(reconnects)
        self._draining.set(draining)

    def is_replica(self, name: str, version: str) -> None:
        self._info.info({"replica": name, "version": version})

    # the work

    def woken(self) -> None:
        self._wake_ups.inc()

    def passed(self, done: Pass, took_s: float) -> None:
        self._passes.labels(done.result.value).inc()
        self._pass_s.observe(took_s)

    def failed(self) -> None:
        """A pass met a fault of ours."""
        self._faults.inc()

    def answered(self, receipt: Receipt) -> None:
        verb = receipt.verb if receipt.verb in VERBS else OTHER_VERB
        self._commands.labels(verb, receipt.answer.value).inc()

    def displaced(self) -> None:
        self._displaced.inc()

    def called(self, cluster: str, verb: str, outcome: str, took_s: float) -> None:
        """One call, or one question, to a cluster: done, refused, unreachable or unknown."""
        self._calls.labels(cluster, verb, outcome).inc()
        if verb == "find":
            self._find_s.labels(cluster).observe(took_s)

    def found(self, cluster: str, at: datetime | None) -> None:
        """When the cluster last had a complete Find."""
        self._find_at.labels(cluster).set(at.timestamp() if at is not None else 0)

    def holds(self, *, open_jobs: int, records: int, passes: int, calls: int) -> None:
        """How much is known, kept and under way."""
        self._open.set(open_jobs)
        self._held.set(records)
        self._in_hand.labels("passes").set(passes)
        self._in_hand.labels("calls").set(calls)

    # the fleet

    def told(self, entry: FleetEntry, done: Pass) -> None:
        """What a pass left to be told of its job."""
        before = self._standing.pop(entry.name, ((), 0))[0]
        for alert in entry.alerts:
            if alert not in before:
                self._raised.labels(alert.value).inc()
        unmatched = _unmatched(done)
        if entry.alerts or unmatched:
            self._standing[entry.name] = (entry.alerts, unmatched)

    def seen(self, entry: Entry) -> None:
        """One more entry of any job: the brake's standing, and jobs that another replica looks after now."""
        self._revision.set(entry.revision)
        if not isinstance(entry.content, Envelope):
            return
        event = entry.content.event
        if isinstance(event, ControlsSet):
            self._brake(entry.tenant, event.cluster or "*", event.brake_until_at)
        elif entry.content.by != self._replica:
            self._standing.pop((entry.tenant, entry.job), None)

    def _brake(self, tenant: str, cluster: str, until: datetime | None) -> None:
        """Only a brake that was pulled makes a label: a person's controls may name any cluster."""
        place = (tenant, cluster)
        if until is not None:
            self._brakes.add(place)
        if place in self._brakes:
            self._braked.labels(*place).set(until.timestamp() if until else 0)


def _unmatched(done: Pass) -> int:
    """Starts of the job that can make nothing any more and were answered by no object."""
    found = done.found
    if found is None or done.record.settled:
        return 0
    return sum(1 for attempt in done.record.attempts if attempt.unmatched and found.as_of >= attempt.over_at)
