"""What a spec and plan must also be, beyond the types: pure, used by the codec and by the job-file reader.

Every fault is found, not only the first. A path is spelled as in the job file: `run.command`, `env.NAME`,
`recovery[1].budget`; "" is the whole job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from streams.messages.calls import Capabilities
from streams.messages.plan import ANY, PlanAction, PlanRule, RecoveryPlan
from streams.messages.spec import (
    RESERVED_PREFIX,
    SCRIPT_BYTES_MAX,
    SPEC_BYTES_MAX,
    JobSpec,
    KubeflowOptions,
    Run,
    SlurmOptions,
)
from streams.messages.values import CauseKind

BRIEF_MAX = 400
ENV_BYTES_MAX = 32 * 1024
RULES_OF_DISPATCH = frozenset({"submit", "person", "unmatched"})
OPTIONS_OF_DISPATCH = frozenset(
    {
        *("hold", "requeue", "no-requeue", "array", "job-name", "comment", "clusters", "cluster", "dependency"),
        *("deadline", "begin", "wait", "parsable", "wrap", "test-only", "export", "export-file", "uid", "gid"),
        *("get-user-env", "kill-on-invalid-dep", "ignore-pbs", "het-group"),
    }
)
OPTIONS_WITH_A_FIELD = {
    "nodes": "nodes",
    "ntasks-per-node": "ranks_per_node",
    "ntasks": "nodes and ranks_per_node",
    "gpus-per-node": "resources.gpus_per_node",
    "cpus-per-task": "resources.cpus_per_rank",
    "mem": "resources.memory_per_node",
    "time": "time_limit",
    "signal": "signal_before_limit",
    "output": "output",
    "error": "output",
    "chdir": "run.workdir",
    "account": "slurm.account",
    "partition": "slurm.partition",
    "qos": "slurm.qos",
    "reservation": "slurm.reservation",
    "constraint": "slurm.constraint",
    "gres": "slurm.gres",
    "licenses": "slurm.licenses",
    "exclude": "recovery[].avoid_nodes",
}

_CAUSES = frozenset(CauseKind)
_LONG_OPTION = re.compile(r"[a-z][a-z0-9-]*\Z")
_OBJECT_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?\Z")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_PLACES = frozenset({"tenant", "job", "submission", "run", "rank"})
_SHORT_SBATCH = re.compile(r"-[JHaMdWb]")
_SHORT_PBS = re.compile(r"-[NhJtrW]")


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, and what to do. `path` is spelled as in the job file."""

    path: str
    sentence: str

    @property
    def wire_path(self) -> str:
        """The same place in a `SubmitJob`."""
        if self.path.startswith("recovery["):
            return "plan.rules" + self.path.removeprefix("recovery")
        return f"spec.{self.path}" if self.path else "spec"


def spec_faults(spec: JobSpec, plan: RecoveryPlan | None) -> tuple[Fault, ...]:
    """Everything wrong with a job that its types cannot say; empty if it may be submitted to some cluster.

    Whether the cluster exists and can do what the plan asks is decided later, by those who know the cluster.
    """
    rules = plan.rules if plan is not None else ()
    return (
        *_of_the_run(spec),
        *_of_times(spec),
        *_of_env(spec),
        *_of_output(spec),
        *_of_places(spec),
        *_of_plan(rules),
    )


def cluster_faults(spec: JobSpec, able: Capabilities) -> tuple[Fault, ...]:
    """Times of the spec that are shorter than this cluster keeps. Sentences lack the cluster's name."""
    warning = spec.signal_before_limit
    times = (
        ("time_limit", spec.time_limit, able.limit_min_s),
        ("start_within", spec.start_within, able.limit_min_s),
        ("signal_before_limit.before", warning.before if warning is not None else None, able.warning_min_s),
    )
    return tuple(
        _fault(path, f"{asked}s is less than the {least}s that this cluster keeps; write {least}s or more")
        for path, asked, least in times
        if asked is not None and asked < least
    )


def brief(text: str) -> str:
    """What is wrong, and where: the middle left out where the sender's own bytes are quoted at length."""
    return text if len(text) <= BRIEF_MAX else f"{text[: BRIEF_MAX // 2]} … {text[-BRIEF_MAX // 2 :]}"


def _fault(path: str, sentence: str) -> Fault:
    return Fault(path=path, sentence=sentence)


def _of_the_run(spec: JobSpec) -> Iterator[Fault]:
    size = len(msgspec.json.encode(spec))
    if size > SPEC_BYTES_MAX:
        yield _fault("", f"the job is {size} bytes encoded, the most is {SPEC_BYTES_MAX}; read large input from a file")
    if spec.hold == "":
        yield _fault("hold", "a job submitted held needs a reason of 1 to 500 characters")
    yield from _of_command(spec.run)
    if spec.run.script is not None:
        yield from _of_script(spec.run.script)
    if not spec.run.workdir or "\0" in spec.run.workdir:
        yield _fault("run.workdir", "must be a path, or left off")
    if spec.run.image is not None and spec.kubeflow is None:
        yield _fault("run.image", "only a Kubeflow job has an image; remove it, or add kubeflow")
    if spec.run.image == "":
        yield _fault("run.image", "must be an image's name, or left off")


def _of_command(run: Run) -> Iterator[Fault]:
    if (run.command is None) == (run.script is None):
        yield _fault("run", "give exactly one of run.command and run.script")
    if run.command is None:
        return
    if not run.command or not run.command[0]:
        yield _fault("run.command", "must begin with the program to run")
    if any("\0" in word for word in run.command):
        yield _fault("run.command", "no argument may hold a zero byte")
    if sum(len(word.encode()) + 1 for word in run.command) > SCRIPT_BYTES_MAX:
        yield _fault("run.command", f"is above {SCRIPT_BYTES_MAX} bytes; put it in a file")


def _of_script(script: str) -> Iterator[Fault]:
    """A scheduler reads directives down to the first line that is no comment."""
    if not script.strip() or "\0" in script:
        yield _fault("run.script", "must be a shell script without zero bytes")
    if len(script.encode()) > SCRIPT_BYTES_MAX:
        yield _fault("run.script", f"is above {SCRIPT_BYTES_MAX} bytes; put it in a file")
    for number, line in enumerate(script.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            return
        owned = _owned_directive(line)
        if owned:
            yield _fault(
                "run.script", f"line {number}: {owned} is set by dispatch; remove the line {line.strip()[:60]!r}"
            )


def _owned_directive(line: str) -> str | None:
    mark, _, rest = line.partition(" ")
    words = rest.split()
    if mark == "#SBATCH" and "hetjob" in words[:1]:
        return "hetjob"
    if mark not in {"#SBATCH", "#PBS"}:
        return None
    short = _SHORT_SBATCH if mark == "#SBATCH" else _SHORT_PBS
    for word in words:
        if word.startswith("--") and _is_owned(word[2:].partition("=")[0]):
            return word.partition("=")[0]
        if not word.startswith("--") and short.match(word):
            return word[:2]
    return None


def _is_owned(option: str) -> bool:
    """Schedulers take any unambiguous beginning of a long option."""
    return option != "" and any(own.startswith(option) for own in OPTIONS_OF_DISPATCH)


def _of_times(spec: JobSpec) -> Iterator[Fault]:
    warning = spec.signal_before_limit
    if warning is None:
        return
    if spec.time_limit is None:
        yield _fault("signal_before_limit", "needs a time_limit to come before")
    elif warning.before >= spec.time_limit:
        yield _fault("signal_before_limit.before", f"must be below time_limit, which is {spec.time_limit}s")


def _of_env(spec: JobSpec) -> Iterator[Fault]:
    for name, value in spec.env.items():
        if name.startswith(RESERVED_PREFIX):
            yield _fault(f"env.{name}", f"names that begin with {RESERVED_PREFIX} are reserved; choose another")
        if "\0" in value:
            yield _fault(f"env.{name}", "the value may not hold a zero byte")
    size = sum(len(name.encode()) + len(value.encode()) + 2 for name, value in spec.env.items())
    if size > ENV_BYTES_MAX:
        yield _fault("env", f"is {size} bytes in all, the most is {ENV_BYTES_MAX}; put large values in a file")
    seen = set(spec.env)
    for number, secret in enumerate(spec.env_from):
        path = f"env_from[{number}]"
        if secret.name.startswith(RESERVED_PREFIX):
            yield _fault(f"{path}.name", f"names that begin with {RESERVED_PREFIX} are reserved; choose another")
        if secret.name in seen:
            yield _fault(f"{path}.name", f"{secret.name} is set twice; keep one")
        seen.add(secret.name)
        for field in ("secret", "key"):
            if not _OBJECT_NAME.match(getattr(secret, field)):
                yield _fault(f"{path}.{field}", "must be a name of letters, digits, '.', '_' and '-', at most 253")


def _of_output(spec: JobSpec) -> Iterator[Fault]:
    if spec.output is None:
        return
    if spec.kubeflow is not None:
        yield _fault("output", "a Kubeflow job writes to its pods' logs; remove it")
    if not spec.output or any(sign in spec.output for sign in "\0\n\r"):
        yield _fault("output", "must be one line")
    places = set(_PLACEHOLDER.findall(spec.output))
    for name in sorted(places - _PLACES):
        yield _fault("output", f"{{{name}}} is no place; use {', '.join(f'{{{place}}}' for place in sorted(_PLACES))}")
    for needed in ("submission", "run"):
        if needed not in places:
            yield _fault("output", f"without {{{needed}}} the second {needed} would overwrite the first")
    if spec.ranks > 1 and "rank" not in places:
        yield _fault("output", "without {rank} the ranks would overwrite each other")


def _of_places(spec: JobSpec) -> Iterator[Fault]:
    if spec.slurm is not None and spec.kubeflow is not None:
        yield _fault("kubeflow", "a job runs on one cluster: keep slurm or kubeflow")
    if spec.slurm is not None:
        yield from _of_slurm(spec.slurm)
    if spec.kubeflow is not None:
        yield from _of_kubeflow(spec.kubeflow)


def _of_slurm(slurm: SlurmOptions) -> Iterator[Fault]:
    for field in ("account", "partition", "qos", "reservation", "constraint", "gres", "licenses"):
        value = getattr(slurm, field)
        if value is not None and (not value or any(sign in value for sign in "\0\n\r")):
            yield _fault(f"slurm.{field}", "must be one line of text, or left off")
    for option, value in slurm.options.items():
        path = f"slurm.options.{option}"
        if not _LONG_OPTION.match(option):
            yield _fault(path, "must be a long option of sbatch without its dashes, such as mail-user")
        elif option in OPTIONS_WITH_A_FIELD:
            yield _fault(path, f"has a field of its own; use {OPTIONS_WITH_A_FIELD[option]}")
        elif _is_owned(option):
            yield _fault(path, "is set by dispatch; remove it")
        if any(sign in value for sign in "\0\n\r"):
            yield _fault(path, "must be one line of text")


def _of_kubeflow(kubeflow: KubeflowOptions) -> Iterator[Fault]:
    if not _OBJECT_NAME.match(kubeflow.runtime):
        yield _fault("kubeflow.runtime", "must be the name of a training runtime")
    if kubeflow.mode == "kueue" and not kubeflow.queue:
        yield _fault("kubeflow.queue", "mode kueue needs the name of a local queue")
    if kubeflow.mode == "plain" and kubeflow.queue is not None:
        yield _fault("kubeflow.queue", "mode plain has no queue; remove it, or use mode kueue")
    for field in ("queue", "priority_class"):
        name = getattr(kubeflow, field)
        if name and not _OBJECT_NAME.match(name):
            yield _fault(f"kubeflow.{field}", "must be the name of a Kubernetes object")


def _of_plan(rules: tuple[PlanRule, ...]) -> Iterator[Fault]:
    names: set[str] = set()
    for number, rule in enumerate(rules):
        path = f"recovery[{number}]"
        if rule.name in names:
            yield _fault(f"{path}.name", f"two rules are named {rule.name}; budgets go by it, so choose another")
        if rule.name in RULES_OF_DISPATCH:
            yield _fault(f"{path}.name", f"{rule.name} is a rule of dispatch itself; choose another")
        names.add(rule.name)
        yield from _of_rule(path, rule)


def _of_rule(path: str, rule: PlanRule) -> Iterator[Fault]:
    if not rule.on:
        yield _fault(f"{path}.on", "must name at least one cause, or any")
    for word in rule.on:
        if word != ANY and word not in _CAUSES:
            yield _fault(f"{path}.on", f"{word[:40]!r} is no cause; use any or one of {', '.join(sorted(_CAUSES))}")
    if rule.exit_codes and CauseKind.EXIT_CODE not in rule.on:
        yield _fault(f"{path}.exit_codes", "goes only beside exit-code in on")
    if rule.do in {PlanAction.RESUBMIT, PlanAction.REQUEUE} and rule.budget is None:
        yield _fault(f"{path}.budget", f"{rule.do} needs a budget, 0 to 10000")
    if rule.backoff.max < rule.backoff.first:
        yield _fault(f"{path}.backoff.max", f"must be at least first, which is {rule.backoff.first:g}s")
