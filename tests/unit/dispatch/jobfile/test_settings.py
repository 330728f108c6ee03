"""`--set key=value`: a dotted path, typed by the field it names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dispatch.jobfile import JobFile, JobFileError, read_job_file
from streams.messages.plan import Backoff, RecoveryPlan

SLURM = (Path(__file__).parents[4] / "examples" / "jobs" / "slurm.yaml").read_bytes()
LOCAL = (Path(__file__).parents[4] / "examples" / "jobs" / "local.yaml").read_bytes()

# `Any`: a plan may be None, which a lambda cannot narrow.
TAKEN: dict[str, Callable[[Any], bool]] = {
    "nodes=16": lambda job: job.spec.nodes == 16,
    "time_limit=90m": lambda job: job.spec.time_limit == 5400,
    "labels.project=x": lambda job: job.spec.labels == {"project": "x"},
    "env.A=b=c": lambda job: job.spec.env == {"A": "b=c"},
    "env.A=": lambda job: job.spec.env == {"A": ""},
    "env.A=[x": lambda job: job.spec.env == {"A": "[x"},
    "recovery.preempted.budget=9": lambda job: job.plan.rules[0].budget == 9,
    "recovery.1.on=[any]": lambda job: job.plan.rules[1].on == ("any",),
    "recovery[1].do=hold": lambda job: job.plan.rules[1].do == "hold",
    "recovery.limit.backoff.max=2h": lambda job: job.plan.rules[2].backoff == Backoff(first=30, factor=1, max=7200),
    "recovery=[]": lambda job: job.plan == RecoveryPlan(),
    "fast_fail=off": lambda job: job.plan.fast_fail.off,
    "fast_fail.nodes=4": lambda job: job.plan.fast_fail.nodes == 4,
    "resources.memory_per_node=1T": lambda job: job.spec.resources.memory_per_node == 10**12,
    "slurm.options={mail-user: a@b}": lambda job: job.spec.slurm.options == {"mail-user": "a@b"},
    "slurm.options.mail-user=a@b": lambda job: job.spec.slurm.options == {"mail-user": "a@b"},
    "hold=look first": lambda job: job.spec.hold == "look first",
}


def read(*settings: str) -> JobFile:
    return read_job_file(SLURM, source="llama.yaml", settings=settings)


@pytest.mark.parametrize("setting", TAKEN)
def test_a_setting_is_typed_by_the_field_it_names(setting: str) -> None:
    assert TAKEN[setting](read(setting))


def test_later_settings_win_over_earlier_ones_and_the_file() -> None:
    assert read("nodes=2", "nodes=3").spec.nodes == 3


def test_a_list_replaces_the_command() -> None:
    assert read_job_file(LOCAL, settings=["run.command=[a, b]"]).spec.run.command == ("a", "b")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("nodez=3", ", nodez: unknown field; did you mean nodes?"),
        ("nodes=many", ", nodes: many is not a number"),
        ("nodes", ": 'nodes' is not key=value"),
        ("nodes.x=1", ", nodes.x: x is no field: a single value stands there"),
        (
            "recovery.nope.budget=1",
            ", recovery.nope.budget: nothing is named 'nope' there; there are preempted, bad-node, limit, oom, rest",
        ),
        (
            "recovery.9.budget=1",
            ", recovery.9.budget: nothing is named '9' there; there are preempted, bad-node, limit, oom, rest",
        ),
        (
            "recovery.².budget=1",
            ", recovery.².budget: nothing is named '²' there; there are preempted, bad-node, limit, oom, rest",
        ),
        ("recovery=[", ", recovery: '[' is no value: expected the node content, but found '<stream end>'"),
        ("env.DISPATCH_RUN=1", ", env.DISPATCH_RUN: reserved for dispatch; choose another name"),
        ("time_limit=24", ", time_limit: 24 has no unit; write 24h"),
        ("output=x.log", " has 3 mistakes; nothing was sent (exit 2)"),
    ],
)
def test_a_wrong_setting_is_told_as_one(setting: str, says: str) -> None:
    with pytest.raises(JobFileError) as caught:
        read(setting)
    assert all(mistake.by_set for mistake in caught.value.mistakes)
    assert says in str(caught.value).splitlines()[0]
