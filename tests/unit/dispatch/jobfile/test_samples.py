"""The samples of the job file are the files under `examples/jobs/`; each is read as it is meant."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from dispatch.jobfile import JobFile, name_from, read_job_file
from dispatch.jobfile.kinds import every_path
from dispatch.jobfile.notes import MEANINGS
from streams.messages.checks import spec_faults
from streams.messages.plan import Backoff, FastFail, PlanAction, PlanRule, RecoveryPlan, WhenSpent
from streams.messages.spec import (
    JobSpec,
    KubeflowOptions,
    Resources,
    Run,
    SecretRef,
    SignalBeforeLimit,
    SignalName,
    SlurmOptions,
)

EXAMPLES = Path(__file__).parents[4] / "examples" / "jobs"
LEAST = "version: 1\ncluster: local\nrun: {command: [true]}\n"


def sample(name: str) -> str:
    return (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")


def read(text: str, *sets: str, cluster: str | None = None) -> JobFile:
    return read_job_file(text.encode(), source="llama.yaml", cluster=cluster, settings=sets)


def test_the_local_sample_is_read_as_written() -> None:
    job = read(sample("local"))
    assert job.spec == JobSpec(cluster="local", ranks_per_node=2, run=Run(command=("python", "-u", "train.py")))
    rule = PlanRule(name="crash", on=("exit-code", "signal"), do=PlanAction.REQUEUE, budget=2, backoff=Backoff(first=5))
    assert job.plan == RecoveryPlan(rules=(rule,))
    assert job.name is None


def test_the_slurm_sample_is_read_as_written() -> None:
    job = read(sample("slurm"))
    assert job.name == "llama-7b"
    assert job.spec == JobSpec(
        cluster="hpc2",
        labels={"project": "llama"},
        nodes=8,
        ranks_per_node=8,
        resources=Resources(gpus_per_node=8, cpus_per_rank=12, memory_per_node=900 * 10**9),
        time_limit=86400,
        signal_before_limit=SignalBeforeLimit(signal=SignalName.USR1, before=300),
        stop_grace=90,
        run=Run(script="srun python -u train.py --resume auto\n"),
        output="logs/{job}/{submission}.{run}/{rank}.log",
        slurm=SlurmOptions(account="nlp", partition="a100", qos="long"),
    )
    assert job.plan is not None
    assert [rule.name for rule in job.plan.rules] == ["preempted", "bad-node", "limit", "oom", "rest"]
    assert job.plan.rules[0].backoff == Backoff(first=60, max=1800)
    assert job.plan.rules[1].when_spent is WhenSpent.HOLD


def test_the_kubeflow_samples_are_read_as_written() -> None:
    plain, kueue = read(sample("kubeflow")).spec, read(sample("kueue")).spec
    assert plain.env_from == (SecretRef(name="HF_TOKEN", secret="hf", key="token"),)
    assert plain.start_within == 1800
    assert plain.kubeflow == KubeflowOptions(namespace="nlp", runtime="torch-gang")
    assert kueue.kubeflow == KubeflowOptions(
        namespace="nlp", runtime="torch-gang", mode="kueue", queue="nlp-batch", priority_class="high"
    )


@pytest.mark.parametrize("name", ["local", "slurm", "kubeflow", "kueue"])
def test_what_is_read_is_a_spec_that_the_codec_takes(name: str) -> None:
    job = read(sample(name))
    assert spec_faults(job.spec, job.plan) == ()
    assert msgspec.json.decode(msgspec.json.encode(job.spec), type=JobSpec) == job.spec


def test_json_is_read_like_yaml() -> None:
    wire = {"version": 1, "cluster": "local", "run": {"command": ["true"]}, "time_limit": "24h", "recovery": []}
    assert read(json.dumps(wire)).spec == read(LEAST, "time_limit=24h").spec
    assert read(json.dumps(wire)).plan == RecoveryPlan()


def test_no_plan_is_none_and_an_empty_one_is_never_again() -> None:
    assert read(LEAST).plan is None
    assert read(LEAST + "recovery: []\n").plan == RecoveryPlan()


@pytest.mark.parametrize(
    ("written", "meant"),
    [("off", FastFail(off=True)), ("{within: 5m, nodes: 3}", FastFail(within=300, nodes=3)), ("{}", FastFail())],
)
def test_fast_fail_is_off_or_has_bounds_of_its_own(written: str, meant: FastFail) -> None:
    assert read(LEAST + f"recovery: []\nfast_fail: {written}\n").plan == RecoveryPlan(fast_fail=meant)


def test_the_cluster_of_the_context_stands_in_where_none_is_written() -> None:
    text = "version: 1\nrun: {command: [a]}\n"
    assert read(text, cluster="hpc2").spec.cluster == "hpc2"
    assert read("cluster: local\n" + text, cluster="hpc2").spec.cluster == "local"
    assert read("cluster: local\n" + text, "cluster=k8s-a", cluster="hpc2").spec.cluster == "k8s-a"


def test_numbers_in_text_fields_keep_their_spelling() -> None:
    job = read(LEAST.replace("[true]", "[python, 3, 1.10, true]") + "env: {N: 010, ON: on}\n")
    assert job.spec.run.command == ("python", "3", "1.10", "true")
    assert job.spec.env == {"N": "010", "ON": "on"}


def test_a_warning_that_comes_later_knows_the_line() -> None:
    job = read(sample("slurm"))
    assert job.mistake("time_limit", "is all that partition a100 allows").line == 8
    assert job.mistake("recovery[1].do", "hpc2 cannot requeue").line == 15
    assert job.mistake("recovery[1].budget.x", "…").line == 15


def test_a_name_is_made_of_the_files_stem() -> None:
    assert name_from("llama-7b", "k3f9q") == "llama-7b-k3f9q"
    assert name_from("My Job (v2)", "k3f9q") == "my-job-v2-k3f9q"
    assert name_from("_", "k3f9q") == "job-k3f9q"
    assert len(name_from("x" * 200, "k3f9q")) == 63
    assert name_from("x" * 56 + "--y", "k3f9q") == "x" * 56 + "-k3f9q"


def test_every_field_has_words_and_every_word_a_field() -> None:
    assert set(every_path()) == set(MEANINGS)
