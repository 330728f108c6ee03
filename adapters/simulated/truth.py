"""What really runs, whatever a scheduler shows: nodes, executions and their processes.

Kept for whoever checks a law. No rule of the simulated schedulers' answers reads it, but `ceased`, which may say
`ceased` only of processes that are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum

from streams.messages.calls import JobName, OpenCall, ReleaseCall
from streams.messages.values import ObjectRef, Tag


class BegunBy(StrEnum):
    """On whose word an execution began."""

    CALL = "call"
    PERSON = "person"
    SCHEDULER = "scheduler"


class Lift:
    """Who lifted the gate an execution passed: a call of ours, or somebody else."""

    __slots__ = ("by", "call")

    def __init__(self, by: BegunBy, call: OpenCall | ReleaseCall | None = None) -> None:
        self.by = by
        self.call = call


class Node:
    """One machine. `boot` counts its boots; `gone` holds what may be said of it in `NodeState.state`."""

    __slots__ = ("boot", "drained", "name", "reachable")

    def __init__(self, name: str) -> None:
        self.name = name
        self.reachable = True
        self.drained = False
        self.boot = 1

    @property
    def state(self) -> str:
        if not self.reachable:
            return "down"
        return "drained" if self.drained else "up"


class Execution:
    """One run of one object. `alive` holds the nodes on which a process of it lives."""

    __slots__ = ("alive", "began_at", "ended_at", "lift", "name", "nodes", "object", "run", "tag")

    def __init__(self, name: JobName, object: ObjectRef, tag: Tag | None, run: int, lift: Lift) -> None:
        self.name = name
        self.object = object
        self.tag = tag
        self.run = run
        self.lift = lift
        self.nodes: tuple[str, ...] = ()
        self.alive: dict[str, None] = {}
        self.began_at: datetime | None = None
        self.ended_at: datetime | None = None

    @property
    def wild(self) -> bool:
        """Begun by a person or by the scheduler, not by a call of ours."""
        return self.lift.by is not BegunBy.CALL


class Truth:
    """Every node and every execution of one cluster. `version` grows whenever a process begins or ends."""

    def __init__(self, nodes: Iterable[str], now: Callable[[], datetime]) -> None:
        self.nodes = {name: Node(name) for name in nodes}
        self.executions: list[Execution] = []
        self.living: list[Execution] = []
        self.version = 0
        self._now = now

    def begin(self, execution: Execution, nodes: Iterable[str]) -> None:
        """Processes of this execution start on `nodes`; it may have had others before."""
        if execution.began_at is None:
            execution.began_at = self._now()
            self.executions.append(execution)
        if not execution.alive:
            self.living.append(execution)
        execution.ended_at = None
        execution.alive.update(dict.fromkeys(nodes))
        execution.nodes = tuple(dict.fromkeys((*execution.nodes, *nodes)))
        self.version += 1

    def end(self, execution: Execution, nodes: Iterable[str]) -> None:
        """Processes of this execution on `nodes` are gone."""
        before = len(execution.alive)
        for node in tuple(nodes):
            execution.alive.pop(node, None)
        if len(execution.alive) == before:
            return
        self.version += 1
        if not execution.alive:
            execution.ended_at = self._now()
            self.living.remove(execution)

    def reachable(self, nodes: Iterable[str]) -> list[str]:
        return [name for name in nodes if self.nodes[name].reachable]

    def free(self, avoid: Iterable[str] = ()) -> list[str]:
        """Nodes that can take work and that no process uses, in order of name."""
        used = {name for execution in self.living for name in execution.alive}.union(avoid)
        return [
            node.name for node in self.nodes.values() if node.reachable and not node.drained and node.name not in used
        ]

    def reboot(self, node: str) -> None:
        """The machine starts anew: no process of before lives on it."""
        for execution in tuple(self.living):
            self.end(execution, (node,))
        self.nodes[node].boot += 1
        self.nodes[node].reachable = True
        self.nodes[node].drained = False
        self.version += 1
