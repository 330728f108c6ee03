"""The worlds that are explored: those of every test run, and with `make small` the larger ones too."""

from __future__ import annotations

from tests.simulator.small.world import Fault, Small

# At least so many states: fewer say that the explorer no longer sees a choice. Changed code may bring more.
QUICK_STATES = (
    (Small(about="launch", shape="slurm", passes=2), 500),
    (Small(about="launch", shape="kubeflow", passes=2), 1000),
    (Small(about="launch", shape="slurm", fault=Fault.CALL, passes=1, waits=1), 70),
    (Small(about="launch", shape="slurm", fault=Fault.APPEND, passes=1), 18),
    (Small(about="launch", shape="slurm", fault=Fault.CRASH, passes=1), 18),
    (Small(about="cancel", shape="slurm", passes=1), 300),
    (Small(about="cancel", shape="kubeflow", passes=1), 400),
    (Small(about="requeue", shape="slurm", passes=2), 200),
    (Small(about="requeue", shape="kubeflow", passes=2), 200),
    (Small(about="requeue", shape="slurm", fault=Fault.CALL, passes=1), 30),
    (Small(about="requeue", shape="slurm", fault=Fault.APPEND, passes=1), 120),
    (Small(about="requeue", shape="slurm", fault=Fault.CRASH, passes=1), 100),
    (Small(about="requeue", shape="kubeflow", fault=Fault.CALL, passes=1), 30),
    (Small(about="requeue", shape="kubeflow", fault=Fault.APPEND, passes=1), 120),
    (Small(about="requeue", shape="kubeflow", fault=Fault.CRASH, passes=1), 100),
    (Small(about="requeue", shape="slurm", fault=Fault.CALL, passes=2), 250),
    (Small(about="cancel", shape="slurm", fault=Fault.CALL, passes=1), 1300),
)
QUICK = tuple(small for small, _ in QUICK_STATES)
STATES = {small.name: states for small, states in QUICK_STATES}
# What is asked for and one fault: each fault that can strike a call, an append or a supervisor.
STRUCK = (Fault.CALL, Fault.APPEND, Fault.CRASH)
FAULTED = tuple(
    Small(about=about, shape=shape, fault=fault, passes=passes)
    for about, passes in (("launch", 2), ("cancel", 1), ("requeue", 2))
    for shape in ("slurm", "kubeflow")
    for fault in STRUCK
)
WORLDS = (
    *QUICK,
    *(small for small in FAULTED if small not in QUICK),
    Small(about="launch", shape="slurm", fault=Fault.STALE, passes=2),
    Small(about="cancel", shape="slurm", fault=Fault.STALE, passes=1),
)
