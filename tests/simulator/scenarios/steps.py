"""What the scenarios have in common."""

from __future__ import annotations

from streams.messages.values import Cause, CauseKind
from tests.simulator.script import Script

FAILED = Cause(kind=CauseKind.EXIT_CODE, exit_code=1, rank=0, nodes=("n1",))


def running(shape: str, **fields: object) -> Script:
    """A job whose first object runs."""
    return runs(Script(shape, **fields))  # type: ignore[arg-type]


def unable(shape: str, **can: object) -> Script:
    """A job whose first object runs, on a cluster that can do otherwise than its shape."""
    s = Script(shape, submitted=False)
    s.cluster.otherwise = can
    s.submits()
    return runs(s)


def runs(s: Script) -> Script:
    """Launched, opened and begun."""
    s.settles(s.one, 3)
    s.moves_on(s.first)
    s.moves_on(s.first)
    s.settles(s.one)
    return s


def ended(s: Script, *, stays: bool = False) -> None:
    """The first object's run exits; with `stays`, its processes on a lost node live on."""
    if stays:
        s.mishaps.lose_node(s.first.executions[0].nodes[0])
    else:
        s.cluster.exit_by_itself(s.first, FAILED)
        s.cluster.complete(s.first)
        s.cluster.write_row(s.first)
    s.looks()


def next_gated(s: Script) -> None:
    """The first submission has ended, and the second's object stands at its gate, chosen."""
    s.settles(s.one)
    s.waits(70)
    s.settles(s.one, 3)
