"""A job file -> what may be submitted, or every mistake at once, each with its field and line.

Pure: bytes, defaults and settings in, a `JobFile` out. The rules of a spec are `streams.messages.checks`' own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from dispatch.jobfile.kinds import job_file
from dispatch.jobfile.mistakes import JobFileError, Mistake
from dispatch.jobfile.overrides import SetError, apply
from dispatch.jobfile.reader import Reading
from dispatch.jobfile.tree import Node, TreeError, parse
from streams.messages.checks import spec_faults
from streams.messages.plan import RecoveryPlan
from streams.messages.spec import JobSpec
from streams.messages.values import Value

__all__ = ["JobFile", "JobFileError", "Mistake", "name_from", "read_job_file"]

_OWN = ("version", "name", "tenant")
_PLAN = ("recovery", "fast_fail")
_PLACE = re.compile(r"\[[0-9]+\]\Z")


class JobFile(Value, frozen=True, kw_only=True):
    """One job, ready to be submitted. `name` and `tenant` are None where the file says none.

    `lines` is where each path was written, for warnings that come later; `plan` None is the default plan.
    """

    spec: JobSpec
    plan: RecoveryPlan | None = None
    name: str | None = None
    tenant: str | None = None
    lines: dict[str, int | None] = {}

    def mistake(self, path: str, what: str, fix: str = "") -> Mistake:
        """A mistake that only the cluster can see, at the line where the path was written."""
        return Mistake(path, _line_of(self.lines, path), what, fix)


def read_job_file(
    data: bytes, *, source: str = "job file", cluster: str | None = None, settings: Iterable[str] = ()
) -> JobFile:
    """The job in `data`, YAML 1.2 core or JSON, with `--set` settings applied. Raises JobFileError.

    `cluster` is used where neither the file nor a setting names one; `source` is what messages call the file.
    """
    try:
        root = parse(data)
    except TreeError as error:
        raise JobFileError(source, (Mistake("", error.line, error.what, error.fix),)) from error
    reading = Reading()
    root = _with_defaults(_with_settings(root, settings, reading), cluster)
    wire = reading.group(root, job_file(), "")
    if not isinstance(wire, dict) or reading.mistakes:
        raise JobFileError(source, _with_cluster_hint(reading.mistakes))
    return _built(wire, reading, source)


def name_from(stem: str, suffix: str) -> str:
    """A job's name from a file's stem: what may be in a name is kept, the suffix makes it new."""
    word = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[: 62 - len(suffix)].strip("-")
    return f"{word or 'job'}-{suffix}"


def _with_settings(root: Node, settings: Iterable[str], reading: Reading) -> Node:
    for setting in settings:
        try:
            root = apply(root, setting)
        except SetError as error:
            reading.mistakes.append(error.mistake)
    return root


def _with_defaults(root: Node, cluster: str | None) -> Node:
    if cluster is None or not isinstance(root.value, dict) or "cluster" in root.value:
        return root
    return Node(root.value | {"cluster": Node(cluster, root.line, cluster)}, root.line, keys=root.keys)


def _with_cluster_hint(mistakes: list[Mistake]) -> list[Mistake]:
    fixes = {
        "cluster": "name one, or give --cluster",
        "version": "write version: 1",
        "run": "write run: {command: [ … ]}",
    }
    return [
        Mistake(each.path, each.line, each.what, fixes[each.path], each.by_set)
        if each.what == "missing" and each.path in fixes
        else each
        for each in mistakes
    ]


def _built(wire: dict[str, object], reading: Reading, source: str) -> JobFile:
    fields = {name: value for name, value in wire.items() if name not in (*_OWN, *_PLAN)}
    try:
        spec = msgspec.convert(fields, JobSpec)
        plan = _plan(wire, reading)
    except msgspec.ValidationError as error:
        raise JobFileError(source, (Mistake("", None, str(error)),)) from error
    for fault in spec_faults(spec, plan):
        what, _, fix = fault.sentence.rpartition("; ")
        line = _line_of(reading.lines, fault.path)
        by_set = line is None and fault.path in reading.lines
        reading.mistakes.append(Mistake(fault.path, line, what or fix, fix if what else "", by_set))
    if reading.mistakes:
        raise JobFileError(source, reading.mistakes)
    name, tenant = (_text(wire.get(each)) for each in ("name", "tenant"))
    return JobFile(spec=spec, plan=plan, name=name, tenant=tenant, lines=reading.lines)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _plan(wire: dict[str, object], reading: Reading) -> RecoveryPlan | None:
    if "recovery" not in wire:
        if "fast_fail" in wire:
            line = reading.lines.get("fast_fail")
            mistake = Mistake("fast_fail", line, "is part of a plan of your own", "write recovery too", line is None)
            reading.mistakes.append(mistake)
        return None
    plan: dict[str, object] = {"rules": wire["recovery"]}
    if "fast_fail" in wire:
        plan["fast_fail"] = wire["fast_fail"]
    return msgspec.convert(plan, RecoveryPlan)


def _line_of(lines: dict[str, int | None], path: str) -> int | None:
    """Where `path`, or the nearest thing around it that was written, stands."""
    while path:
        if path in lines:
            return lines[path]
        path = _PLACE.sub("", path) if _PLACE.search(path) else path.rpartition(".")[0]
    return None
