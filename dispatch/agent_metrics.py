"""What an agent counts, for Prometheus: requests by verb and outcome, how long they took, how many are in hand."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

SLOW_S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 90.0)


class AgentMetrics:
    """The instruments of one agent, in a registry of its own."""

    def __init__(self, cluster: str) -> None:
        self.registry = CollectorRegistry()
        self._cluster = cluster
        self._requests = Counter(
            "dispatch_agent_requests",
            "Requests answered, by outcome; late: past their deadline, so nothing was done",
            ("cluster", "verb", "outcome"),
            registry=self.registry,
        )
        self._took_s = Histogram(
            "dispatch_agent_request_seconds",
            "From a request to its answer",
            ("cluster", "verb"),
            buckets=SLOW_S,
            registry=self.registry,
        )
        self.in_hand = Gauge(
            "dispatch_agent_in_hand", "Requests taken and not yet answered", ("cluster",), registry=self.registry
        ).labels(cluster)
        self.draining = Gauge(
            "dispatch_agent_draining", "1 once this agent was told to stop", ("cluster",), registry=self.registry
        ).labels(cluster)
        self.gone = Gauge(
            "dispatch_agent_gone",
            "1 while a person's word answers for the cluster: that nothing of it is left",
            ("cluster",),
            registry=self.registry,
        ).labels(cluster)

    def answered(self, verb: str, outcome: str, took_s: float) -> None:
        """One request and what became of it."""
        self._requests.labels(self._cluster, verb, outcome).inc()
        self._took_s.labels(self._cluster, verb).observe(took_s)
