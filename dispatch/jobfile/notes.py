"""The words for people of every field: unit, default as written, meaning. Data only.

`docs/reference/job-file.md` is generated from this table and from the wire types. Paths have no indexes.
"""

from __future__ import annotations

from streams.messages.plan import ANY
from streams.messages.values import CauseKind

DURATIONS = {
    "time_limit": "h",
    "start_within": "m",
    "signal_before_limit.before": "m",
    "stop_grace": "s",
    "recovery.backoff.first": "s",
    "recovery.backoff.max": "m",
    "fast_fail.within": "m",
}
SIZES = {"resources.memory_per_node": "G"}
WORDS = {
    "recovery.on": (*(str(kind) for kind in CauseKind), ANY),
    "kubeflow.mode": ("plain", "kueue"),
}

# path: (default as a person reads it, meaning)
MEANINGS: dict[str, tuple[str, str]] = {
    "version": ("required", "version of this format"),
    "name": ("*file stem-xxxxx*", "unique in its tenant for ever; same name and spec: the same receipt"),
    "tenant": ("the context's", "must be the credentials' own"),
    "cluster": ("the context's", "where it runs"),
    "labels": ("`{}`", "for `list -l`; no secrets"),
    "nodes": ("1", "machines of one run; local: 1"),
    "ranks_per_node": ("1", "processes on each; local: a rank takes a slot"),
    "resources": ("", "what each node or rank needs"),
    "resources.gpus_per_node": ("0", "whole GPUs of each node; local: not looked at"),
    "resources.cpus_per_rank": ("1", "CPU cores of each rank; local: not looked at"),
    "resources.memory_per_node": (
        "the site's",
        "K M G T are powers of 1000, Ki Mi Gi Ti of 1024; local: of the whole run",
    ),
    "time_limit": (
        "the cluster's own",
        "of one run; then its cause is `time-limit`; 1m or more where a scheduler counts in minutes, local: 1s",
    ),
    "start_within": (
        "none",
        "from the open gate to running; then stopped, cause `never-started`; 1m or more, local: 1s",
    ),
    "signal_before_limit": ("none", "a signal to every rank some time before the limit"),
    "signal_before_limit.signal": ("required", "which signal"),
    "signal_before_limit.before": ("required", "how long before; below `time_limit`; 10s or more, local: 1s"),
    "stop_grace": ("30s", "between TERM and KILL"),
    "run": ("required", "exactly one of `command` and `script`"),
    "run.command": ("none", "program and arguments; no shell"),
    "run.script": ("none", "text of a script; no `#SBATCH` line that dispatch owns"),
    "run.image": ("the runtime's", "Kubeflow only; `latest`, by its tag or by having none, is warned about"),
    "run.workdir": ("`.`", "where ranks start"),
    "env": ("`{}`", "stored in the history for ever: secrets go to `env_from`; `DISPATCH_*` is reserved"),
    "env_from": ("`[]`", "secrets by reference"),
    "env_from.name": ("required", "name of the variable"),
    "env_from.secret": ("required", "the cluster's secret"),
    "env_from.key": ("required", "its key"),
    "output": ("the cluster's", "must hold `{submission}` and `{run}`, and `{rank}` when there are several"),
    "attempts_max": ("3", "Starts of one submission at most"),
    "unmatched": ("`give-up`", "an attempt never answered and never found: `manual`, or given up once it cannot land"),
    "hold": ("none", "submit held, for this reason"),
    "slurm": ("none", "what only Slurm knows"),
    "slurm.account": ("the site's", "`--account`"),
    "slurm.partition": ("the site's", "`--partition`"),
    "slurm.qos": ("the site's", "`--qos`"),
    "slurm.reservation": ("none", "`--reservation`"),
    "slurm.constraint": ("none", "`--constraint`"),
    "slurm.gres": ("none", "`--gres`"),
    "slurm.licenses": ("none", "`--licenses`"),
    "slurm.options": ("`{}`", "other long names of `sbatch`, but those that dispatch owns"),
    "kubeflow": ("none", "what only Kubeflow knows"),
    "kubeflow.namespace": ("required", "where its objects are made"),
    "kubeflow.runtime": ("required", "a training runtime"),
    "kubeflow.mode": ("`plain`", "`plain`: the gate is `suspend`; `kueue`: an admission check"),
    "kubeflow.queue": ("none", "required with `kueue`, refused with `plain`"),
    "kubeflow.priority_class": ("none", "of the workload"),
    "kubeflow.node_selector": ("`{}`", "labels that a node must have"),
    "kubeflow.tolerations": ("`[]`", "as Kubernetes writes them"),
    "kubeflow.pod_fence": ("`true`", "a scheduling gate on late pods"),
    "recovery": ("the default plan", "rules in order, the first that fits decides; `[]`: never again"),
    "recovery.name": ("required", "unique; budgets and `--set` go by it"),
    "recovery.on": ("required", "causes; `any`: all but `completed` and `stopped`"),
    "recovery.do": (
        "required",
        "`resubmit`: new object; `requeue`: the same one; `hold`: wait for a person; `give-up`",
    ),
    "recovery.exit_codes": ("all", "only beside `exit-code`"),
    "recovery.budget": ("required for the first two", "uses of this rule alone"),
    "recovery.backoff": ("", "wait before the n-th use: first × factor^(n-1), at most max"),
    "recovery.backoff.first": ("30s", "the first wait"),
    "recovery.backoff.factor": ("2", "growth"),
    "recovery.backoff.max": ("15m", "the longest wait; not below `first`"),
    "recovery.avoid_nodes": ("`false`", "the next run avoids the nodes concerned, 64 a job at most"),
    "recovery.when_spent": ("`give-up`", "`next`: the next rule that fits; `hold`; `give-up`"),
    "fast_fail": ("on", "`off`, or when the same exit soon after start stops the retries; beside `recovery`"),
    "fast_fail.within": ("2m", "after the start"),
    "fast_fail.nodes": ("2", "on that many different nodes"),
}
