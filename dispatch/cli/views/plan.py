"""What a submit would do, before it does it: `dispatch submit --dry-run`."""

from __future__ import annotations

from dispatch.cli.columns import flush, table
from dispatch.cli.screen import WIDTH_MAX
from dispatch.cli.times import exact_duration
from streams.messages.calls import Capabilities
from streams.messages.plan import PlanAction, PlanRule, RecoveryPlan, WhenSpent
from streams.messages.spec import JobSpec

HEADER = ["WHEN IT ENDS BY", "THEN", "AT MOST", "WAIT", "WHEN SPENT"]


def plan_lines(
    name: str, spec: JobSpec, plan: RecoveryPlan, able: Capabilities | None, *, width: int | None
) -> list[str]:
    """The plan of a job: how it is launched, what bounds a run, what follows each end."""
    kind = f" ({able.kind})" if able is not None and able.kind else ""
    return [
        flush(f"plan: {name} on {spec.cluster}{kind}", "nothing was sent", width),
        f"  launch   {_size(spec)}, created gated, opened once it is the one object of its submission",
        f"  per run  {_bounds(spec)}      never two runs: {_proof(able)}",
        *(f"  {line}" for line in table(_rules(plan, width), free=4, width=None if width is None else width - 2)),
    ]


def _size(spec: JobSpec) -> str:
    nodes = "1 node" if spec.nodes == 1 else f"{spec.nodes} nodes"
    return f"{nodes} × {spec.ranks_per_node} rank{'s' if spec.ranks_per_node > 1 else ''}"


def _bounds(spec: JobSpec) -> str:
    parts = [exact_duration(spec.time_limit) if spec.time_limit is not None else "no time limit"]
    warning = spec.signal_before_limit
    if warning is not None:
        parts.append(f"{warning.signal.value} {exact_duration(warning.before)} before the end")
    parts.append(f"{exact_duration(spec.stop_grace)} to stop")
    if spec.start_within is not None:
        parts.append(f"to start within {exact_duration(spec.start_within)}")
    return ", ".join(parts)


def _proof(able: Capabilities | None) -> str:
    if able is None:
        return "proof as the cluster can give it"
    if not able.cessation:
        return "this cluster cannot prove that processes are gone: a person's word"
    return {"slurm": "proof by cgroup or reboot", "local": "proof by its processes"}.get(
        able.kind, "proof that its processes are gone"
    )


def _rules(plan: RecoveryPlan, width: int | None) -> list[list[str]]:
    avoiding = ", avoid those nodes" if (width or WIDTH_MAX) >= WIDTH_MAX else ", avoiding"
    rows = [HEADER]
    rows += [_row(rule, avoiding) for rule in plan.rules]
    if not any(tuple(rule.on) == ("any",) and not rule.exit_codes for rule in plan.rules):
        rows.append(["all else", "give-up", "-", "-", "-"])
    return rows


def _row(rule: PlanRule, avoiding: str) -> list[str]:
    then = {PlanAction.HOLD: "hold for a person"}.get(rule.do, rule.do.value)
    if rule.avoid_nodes:
        then += avoiding
    if rule.do not in {PlanAction.RESUBMIT, PlanAction.REQUEUE}:
        return [_causes(rule), then, "-", "-", "-"]
    spent = {WhenSpent.NEXT: "the next rule"}.get(rule.when_spent, rule.when_spent.value)
    return [_causes(rule), then, str(rule.budget), wait_of(rule), spent]


def _causes(rule: PlanRule) -> str:
    if tuple(rule.on) == ("any",):
        return "all else"
    codes = f" {', '.join(map(str, rule.exit_codes))}" if rule.exit_codes else ""
    return ", ".join(f"{cause}{codes}" if cause == "exit-code" else cause for cause in rule.on)


def wait_of(rule: PlanRule) -> str:
    """`1m to 30m`, or `30s` where it does not grow."""
    first, most = rule.backoff.first, rule.backoff.max
    if rule.backoff.factor <= 1 or first >= most or first == 0:
        return exact_duration(first)
    return f"{exact_duration(first)} to {exact_duration(most)}"
