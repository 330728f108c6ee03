"""A job file written from a spec reads back as that spec: `submit --from JOB` is the same job under a new name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatch.jobfile import read_job_file
from dispatch.jobfile.writing import job_file_of
from streams.messages.plan import Backoff, FastFail, PlanAction, PlanRule, RecoveryPlan, default_plan
from streams.messages.spec import JobSpec, Resources, Run, Unmatched

EXAMPLES = Path(__file__).parents[4] / "examples" / "jobs"
ODD = JobSpec(
    cluster="a",
    run=Run(script="#!/bin/sh\necho 'x: {y}'\n"),
    resources=Resources(memory_per_node=1_000_001_024),
    time_limit=90061,
    start_within=59,
    env={"A": "true", "B": "", "C": "1.10", "D": "\N{GRINNING FACE}\n\t"},
    unmatched=Unmatched.MANUAL,
    hold="look first",
)


@pytest.mark.parametrize("name", ["local", "slurm", "kubeflow", "kueue"])
def test_every_example_survives_being_written(name: str) -> None:
    job = read_job_file((EXAMPLES / f"{name}.yaml").read_bytes())
    again = read_job_file(json.dumps(job_file_of(job.spec, job.plan)).encode())
    assert (again.spec, again.plan) == (job.spec, job.plan)


@pytest.mark.parametrize(
    "plan",
    [
        None,
        RecoveryPlan(),
        RecoveryPlan(fast_fail=FastFail(off=True)),
        RecoveryPlan(fast_fail=FastFail(within=12.5, nodes=3)),
        default_plan(requeue_preempted=True),
        RecoveryPlan(
            rules=(
                PlanRule(name="a", on=("any",), do=PlanAction.REQUEUE, budget=0, backoff=Backoff(first=0.25, max=1)),
            )
        ),
    ],
)
def test_an_odd_spec_and_every_kind_of_plan_survive_being_written(plan: RecoveryPlan | None) -> None:
    again = read_job_file(json.dumps(job_file_of(ODD, plan)).encode())
    assert (again.spec, again.plan) == (ODD, plan)
