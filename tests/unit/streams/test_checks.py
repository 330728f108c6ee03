from __future__ import annotations

from typing import Any

import msgspec
import pytest

from streams.messages.checks import Fault, spec_faults
from streams.messages.plan import RecoveryPlan, default_plan
from streams.messages.spec import JobSpec

PLAIN: dict[str, Any] = {"cluster": "hpc2", "run": {"command": ["python", "train.py"]}}
KUBEFLOW = {"namespace": "nlp", "runtime": "torch-gang"}


def faults(plan: list[dict[str, Any]] | None = None, **changes: Any) -> dict[str, str]:
    """Path and sentence of every fault of a spec with some fields changed."""
    spec = msgspec.convert({**PLAIN, **changes}, JobSpec)
    found = spec_faults(spec, None if plan is None else msgspec.convert({"rules": plan}, RecoveryPlan))
    return {fault.path: fault.sentence for fault in found}


def a_rule(**changes: Any) -> dict[str, Any]:
    fields = {"name": "preempted", "on": ["preempted"], "do": "resubmit", "budget": 3, **changes}
    return {key: value for key, value in fields.items() if value is not None}


def script(text: str) -> dict[str, str]:
    return faults(run={"script": text})


def test_a_plain_job_has_no_fault() -> None:
    assert faults() == {}
    for requeue in (True, False):
        assert spec_faults(msgspec.convert(PLAIN, JobSpec), default_plan(requeue_preempted=requeue)) == ()


def test_the_job_files_of_the_design_have_no_fault() -> None:
    assert (
        faults(
            [
                a_rule(budget=50, backoff={"first": 60.0, "max": 1800.0}),
                a_rule(
                    name="bad-node", on=["node-lost", "launch-failed"], budget=5, avoid_nodes=True, when_spent="hold"
                ),
                a_rule(name="limit", on=["time-limit"], budget=20, backoff={"first": 30.0, "factor": 1.0}),
                a_rule(name="oom", on=["out-of-memory"], do="hold", budget=None),
                a_rule(name="rest", on=["any"], do="give-up", budget=None),
            ],
            nodes=8,
            ranks_per_node=8,
            time_limit=86400,
            signal_before_limit={"signal": "USR1", "before": 300},
            run={"script": "srun python -u train.py --resume auto\n"},
            output="logs/{job}/{submission}.{run}/{rank}.log",
            slurm={"account": "nlp", "partition": "a100", "qos": "long", "options": {"mail-user": "ana@example.org"}},
        )
        == {}
    )
    assert (
        faults(
            run={"image": "registry.example/bert:1.4", "command": ["torchrun", "train.py"]},
            env_from=[{"name": "HF_TOKEN", "secret": "hf", "key": "token"}],
            kubeflow={**KUBEFLOW, "mode": "kueue", "queue": "nlp-batch", "priority_class": "high"},
        )
        == {}
    )


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"run": {}}, "run"),
        ({"run": {"command": ["x"], "script": "x"}}, "run"),
        ({"run": {"command": []}}, "run.command"),
        ({"run": {"command": [""]}}, "run.command"),
        ({"run": {"command": ["x", "a\0b"]}}, "run.command"),
        ({"run": {"command": ["x", "y" * 131072]}}, "run.command"),
        ({"run": {"script": "  \n"}}, "run.script"),
        ({"run": {"script": "a\0"}}, "run.script"),
        ({"run": {"script": "ä" * 70_000}}, "run.script"),
        ({"run": {"command": ["x"], "workdir": ""}}, "run.workdir"),
        ({"run": {"command": ["x"], "image": "bert:1"}}, "run.image"),
        ({"hold": ""}, "hold"),
        ({"signal_before_limit": {"signal": "USR1", "before": 60}}, "signal_before_limit"),
        ({"time_limit": 60, "signal_before_limit": {"signal": "USR1", "before": 60}}, "signal_before_limit.before"),
        ({"env": {"A": "x\0"}}, "env.A"),
        ({"env": {f"A{number}": "x" * 1000 for number in range(33)}}, "env"),
        ({"env": {"A": "1"}, "env_from": [{"name": "A", "secret": "s", "key": "k"}]}, "env_from[0].name"),
        ({"env_from": [{"name": "A", "secret": "s", "key": "k"}] * 2}, "env_from[1].name"),
        ({"env_from": [{"name": "A", "secret": "no/such", "key": "k"}]}, "env_from[0].secret"),
        ({"env_from": [{"name": "A", "secret": "s", "key": ""}]}, "env_from[0].key"),
        ({"output": "{run}.log"}, "output"),
        ({"output": "{submission}.log"}, "output"),
        ({"output": "{submission}.{run}.{node}.log"}, "output"),
        ({"output": "{submission}.{run}\n"}, "output"),
        ({"ranks_per_node": 2, "output": "{submission}.{run}.log"}, "output"),
        ({"output": "{submission}.{run}", "kubeflow": KUBEFLOW}, "output"),
        ({"slurm": {}, "kubeflow": KUBEFLOW}, "kubeflow"),
        ({"slurm": {"account": ""}}, "slurm.account"),
        ({"slurm": {"qos": "a\nb"}}, "slurm.qos"),
        ({"slurm": {"options": {"hold": ""}}}, "slurm.options.hold"),
        ({"slurm": {"options": {"no-requeue": ""}}}, "slurm.options.no-requeue"),
        ({"slurm": {"options": {"arr": "1-4"}}}, "slurm.options.arr"),
        ({"slurm": {"options": {"time": "1:00"}}}, "slurm.options.time"),
        ({"slurm": {"options": {"-J": "x"}}}, "slurm.options.-J"),
        ({"slurm": {"options": {"mail-user": "a\nb"}}}, "slurm.options.mail-user"),
        ({"kubeflow": {**KUBEFLOW, "mode": "kueue"}}, "kubeflow.queue"),
        ({"kubeflow": {**KUBEFLOW, "queue": "q"}}, "kubeflow.queue"),
        ({"kubeflow": {**KUBEFLOW, "runtime": "no name"}}, "kubeflow.runtime"),
        ({"kubeflow": {**KUBEFLOW, "priority_class": "no name"}}, "kubeflow.priority_class"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value)[:50],
)
def test_what_a_type_cannot_say_is_found_at_its_field(changes: dict[str, Any], path: str) -> None:
    assert list(faults(**changes)) == [path]


def test_a_reserved_name_is_refused_even_where_no_decoder_saw_it() -> None:
    spec = msgspec.structs.replace(msgspec.convert(PLAIN, JobSpec), env={"DISPATCH_JOB": "x"})
    assert [fault.path for fault in spec_faults(spec, None)] == ["env.DISPATCH_JOB"]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"budget": None}, "recovery[0].budget"),
        ({"do": "requeue", "budget": None}, "recovery[0].budget"),
        ({"on": []}, "recovery[0].on"),
        ({"on": ["bad-luck"]}, "recovery[0].on"),
        ({"exit_codes": [1]}, "recovery[0].exit_codes"),
        ({"on": ["any"], "exit_codes": [1]}, "recovery[0].exit_codes"),
        ({"backoff": {"first": 60.0, "max": 30.0}}, "recovery[0].backoff.max"),
        ({"name": "person"}, "recovery[0].name"),
        ({"name": "submit"}, "recovery[0].name"),
    ],
    ids=str,
)
def test_a_rule_that_cannot_be_followed_is_found(changes: dict[str, Any], path: str) -> None:
    assert list(faults([a_rule(**changes)])) == [path]


def test_two_rules_of_one_name_are_found_at_the_second() -> None:
    assert list(faults([a_rule(), a_rule(on=["signal"])])) == ["recovery[1].name"]


def test_a_rule_that_holds_or_gives_up_needs_no_budget() -> None:
    rules = [
        a_rule(do="hold", budget=None),
        a_rule(name="b", on=["exit-code"], exit_codes=[1], do="give-up", budget=None),
    ]
    assert faults(rules) == {}


@pytest.mark.parametrize(
    "line",
    [
        "#SBATCH --array=1-4",
        "#SBATCH --arr 1-4",
        "#SBATCH -a 1-4",
        "#SBATCH -a1-4",
        "#SBATCH --mem=4G --hold",
        "#SBATCH -J other",
        "#SBATCH -H",
        "#SBATCH --clusters=else",
        "#SBATCH -M else",
        "#SBATCH --requeue",
        "#SBATCH --no-requeue",
        "#SBATCH --dependency=afterok:1",
        "#SBATCH hetjob",
        "#PBS -J 1-4",
        "#PBS -h",
    ],
)
def test_a_directive_that_would_take_the_job_out_of_our_hands_is_found_with_its_line(line: str) -> None:
    found = script(f"#!/bin/bash\n# a comment\n\n{line}\nsrun python train.py\n")
    assert list(found) == ["run.script"]
    assert found["run.script"].startswith("line 4: ")


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/bash\n#SBATCH --exclusive\n#SBATCH --mail-user=ana\nsrun x\n",
        "#!/bin/bash\nsrun x\n#SBATCH --array=1-4\n",
        "#!/bin/bash\n#SBATCHES --hold\n##SBATCH --hold\n# SBATCH --hold\nsrun x\n",
    ],
)
def test_a_script_that_leaves_our_options_alone_has_no_fault(text: str) -> None:
    assert script(text) == {}


def test_a_fault_is_named_on_the_wire_by_its_place_there() -> None:
    assert Fault(path="recovery[1].on", sentence="").wire_path == "plan.rules[1].on"
    assert Fault(path="run.command", sentence="").wire_path == "spec.run.command"
    assert Fault(path="", sentence="").wire_path == "spec"
