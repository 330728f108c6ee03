"""The worlds that are explored: those of every test run, and with `make small` the larger ones too."""

from __future__ import annotations

from tests.simulator.small.world import FAULTS, Begins, Fault, Small


def of(about: str, shape: str, passes: int, fault: str = Fault.NONE, *, begins: str = Begins.ASKED) -> Small:
    """One world. A plain TrainJob is opened again only a while after it was opened first: there, time passes."""
    waits = int(begins == Begins.CALLED and about == "requeue" and shape == "kubeflow")
    return Small(about=about, shape=shape, fault=fault, passes=passes, begins=begins, waits=waits)


RECORDED, CALLED = Begins.RECORDED, Begins.CALLED
# At least so many states: fewer say that the explorer no longer sees a choice. Changed code may bring more.
QUICK_STATES = (
    (of("launch", "slurm", 2), 500),
    (Small(about="launch", shape="slurm", fault=Fault.CALL, passes=1, waits=1), 70),
    (of("launch", "slurm", 1, Fault.APPEND), 18),
    (of("launch", "slurm", 1, Fault.CRASH), 18),
    (of("cancel", "slurm", 1, begins=RECORDED), 90),
    (of("cancel", "slurm", 1, Fault.CALL, begins=CALLED), 12),
    (of("cancel", "kubeflow", 1, Fault.APPEND, begins=CALLED), 20),
    (of("requeue", "slurm", 1), 45),
    (of("requeue", "slurm", 2, begins=RECORDED), 240),
    (of("requeue", "slurm", 2, Fault.CALL, begins=RECORDED), 500),
    (of("requeue", "slurm", 1, Fault.APPEND, begins=RECORDED), 24),
    (of("requeue", "slurm", 1, Fault.STALE, begins=RECORDED), 10),
    (of("requeue", "kubeflow", 1, Fault.CRASH, begins=RECORDED), 28),
    (of("requeue", "kubeflow", 1, Fault.CALL, begins=RECORDED), 16),
    (of("requeue", "slurm", 1, Fault.CALL, begins=CALLED), 25),
    (of("requeue", "slurm", 1, Fault.APPEND, begins=CALLED), 60),
    (of("requeue", "kubeflow", 1, begins=CALLED), 100),
)
QUICK = tuple(small for small, _ in QUICK_STATES)
STATES = {small.name: states for small, states in QUICK_STATES}
SHAPES = ("slurm", "kubeflow")
# The most orders are left open by an append that is late beside pods: there, one pass.
LAUNCHES = (
    of("launch", "kubeflow", 2),
    *(of("launch", "slurm", 2, fault) for fault in FAULTS),
    *(of("launch", "kubeflow", 1 if fault == Fault.APPEND else 2, fault) for fault in FAULTS),
)
# The command against a pass; both supervisors at the call; both at what follows it.
REQUEUES = (
    *(of("requeue", shape, 2) for shape in SHAPES),
    *(of("requeue", shape, 1, fault) for shape in SHAPES for fault in FAULTS),
    of("requeue", "kubeflow", 2, begins=RECORDED),
    *(of("requeue", shape, 2, fault, begins=RECORDED) for shape in SHAPES for fault in FAULTS),
    *(of("requeue", "slurm", 2, fault, begins=CALLED) for fault in (Fault.NONE, Fault.CALL, Fault.STALE)),
    of("requeue", "slurm", 1, Fault.CRASH, begins=CALLED),
    *(of("requeue", "kubeflow", 1, fault, begins=CALLED) for fault in FAULTS),
    of("requeue", "slurm", 3, begins=RECORDED),
)
CANCELS = (
    *(of("cancel", shape, 1) for shape in SHAPES),
    *(of("cancel", "slurm", 1, fault) for fault in (Fault.CALL, Fault.STALE)),
    *(of("cancel", shape, 1, fault, begins=RECORDED) for shape in SHAPES for fault in FAULTS),
    *(of("cancel", shape, 1, fault, begins=CALLED) for shape in SHAPES for fault in FAULTS),
    *(of("cancel", shape, 2, begins=CALLED) for shape in SHAPES),
    *(of("cancel", "slurm", 2, fault, begins=CALLED) for fault in (Fault.CALL, Fault.STALE)),
    of("cancel", "slurm", 2, begins=RECORDED),
)
WORLDS = (*QUICK, *(small for small in (*LAUNCHES, *REQUEUES, *CANCELS) if small not in QUICK))
