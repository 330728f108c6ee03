"""The pages of docs/reference/ that are told by the command line's own tables: make reference.

`exit-codes.md`, `errors.md`, `reasons.md` and `job-file.md`; a test fails when they are not what the code says.
"""

from __future__ import annotations

from pathlib import Path

from dispatch.cli.exits import CODES, MEANINGS
from dispatch.cli.reasons import REASONS
from dispatch.cli.refusals import REFUSALS
from dispatch.jobfile import kinds
from dispatch.jobfile.notes import MEANINGS as FIELDS
from dispatch.units import exact_duration, exact_size
from streams.messages.values import TOKEN_PATTERN, CauseKind

GENERATED = "<!-- Written by scripts/reference_cli.py from dispatch; change the code, then run `make reference`. -->"
EXAMPLES = Path(__file__).parents[1] / "examples" / "jobs"


def exit_codes() -> str:
    """The table of exit codes, and the codes of the command line itself."""
    lines = [
        GENERATED,
        "",
        "# Exit codes",
        "",
        "A command ends by saying how far it got, and its exit code agrees. With `--job-exit` the code is that of the",
        "first failing rank instead of 20.",
        "",
        "| code | meaning |",
        "|---|---|",
        *(f"| {int(code)} | {meaning} |" for code, meaning in MEANINGS.items()),
        "",
        "## Codes of the command line",
        "",
        "An error carries a stable `code`. Those of a refusal are in [the list of errors](errors.md).",
        "",
        "| code | exit | what happened | what to do |",
        "|---|---|---|---|",
        *(f"| `{slug}` | {int(code)} | {what} | {do} |" for slug, (code, what, do) in CODES.items()),
    ]
    return "\n".join(lines) + "\n"


def errors() -> str:
    """Every code of a refusal, what happened and what to do."""
    lines = [
        GENERATED,
        "",
        "# Errors",
        "",
        "Every refusal carries one of these codes, in the receipt and behind `code` on the screen. A refusal changed nothing:",
        "the command may be mended and sent again under a new command id. Exit codes, and the codes of the command line itself,",
        "are in [the list of exit codes](exit-codes.md).",
        "",
        "| code | what happened | what to do |",
        "|---|---|---|",
        *(f"| `{code.value}` | {what} | {do} |" for code, (what, do) in REFUSALS.items()),
    ]
    return "\n".join(lines) + "\n"


def reasons() -> str:
    """Every reason of a decision and what it means."""
    lines = [
        GENERATED,
        "",
        "# Reasons",
        "",
        "Every decision in a history says why it was made; `dispatch history JOB` shows it in the last column.",
        "",
        "| reason | meaning |",
        "|---|---|",
        *(f"| `{reason.value}` | {meaning} |" for reason, meaning in REASONS.items()),
    ]
    return "\n".join(lines) + "\n"


def kind_words(kind: kinds.Kind) -> str:
    """A field's kind and bounds in a few words."""
    match kind:
        case kinds.Text(pattern=pattern) if pattern == TOKEN_PATTERN:
            return "name"
        case kinds.Text(length_max=most):
            return "text" + (f", at most {most:,} characters" if most else "")
        case kinds.Number(low=low, high=high, whole=whole):
            return _bounds(
                "whole number" if whole else "number", *(None if b is None else f"{b:,g}" for b in (low, high))
            )
        case kinds.Duration(low=low, high=high):
            return _bounds("duration", *(None if b is None else exact_duration(b) for b in (low, high)))
        case kinds.Size(low=low, high=high):
            return _bounds("size", *(None if b is None else exact_size(int(b)) for b in (low, high)))
        case kinds.Flag():
            return "`true` or `false`"
        case kinds.Word(words=words) if set(words) > {cause.value for cause in CauseKind}:
            return "a cause, or `any`"
        case kinds.Word(words=words):
            return " ".join(f"`{word}`" for word in words)
        case kinds.ListOf(item=kinds.Group(), length_max=most):
            return "list of fields" + (f", at most {most}" if most else "")
        case kinds.ListOf(item=item, length_max=most):
            return f"list: {kind_words(item)}" + (f"; at most {most}" if most else "")
        case kinds.MapOf(length_max=most):
            return "names with values" + (f", at most {most}" if most else "")
        case kinds.Group(word=word):
            return f"`{word}`, or fields" if word else "fields"


def _bounds(what: str, low: str | None, high: str | None) -> str:
    if low is not None and high is not None:
        return f"{what}, {low} to {high}" if low != high else f"{what}, only {low}"
    return what


def kind_at(path: str) -> kinds.Kind:
    """The kind of the field at a dotted path."""
    kind: kinds.Kind = kinds.job_file()
    for step in path.split("."):
        inner = kind.item if isinstance(kind, kinds.ListOf) else kind
        assert isinstance(inner, kinds.Group), path
        kind = inner.fields[step]
    return kind


def job_file() -> str:
    """Every field of the job file with its kind, default and meaning, and the samples."""
    samples = {
        name: (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
        for name in ("local", "slurm", "kubeflow", "kueue")
    }
    lines = [
        GENERATED,
        "",
        "# The job file",
        "",
        "YAML 1.2 core or JSON. Only `true` and `false` are booleans, so `on:` and `no` stay words; a key twice is an error; an",
        "unknown field is an error with the nearest name. Durations and sizes carry a unit: `90s` `24h` `1h30m`, `900G` `2Gi`.",
        "All mistakes are told at once, each with its line. `dispatch submit FILE --dry-run` checks a file and sends nothing;",
        "`--set` replaces one field by its dotted path, a rule of `recovery` going by its name: `--set recovery.crash.budget=9`.",
        "",
        "| field | kind and limits | default | meaning |",
        "|---|---|---|---|",
    ]
    for path in kinds.every_path():
        default, meaning = FIELDS[path]
        lines.append(f"| `{path}` | {kind_words(kind_at(path))} | {default or '-'} | {meaning} |")
    lines += [
        "",
        "Without `recovery` the default plan holds: `preempted` requeue where the cluster can, else resubmit, 100 times;",
        "`node-lost` and `launch-failed` resubmit 10 times, avoiding the nodes concerned; all else gives up.",
        "",
    ]
    for name, text in samples.items():
        lines += [f"## {name.capitalize()}", "", "```yaml", text.rstrip("\n"), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def pages() -> dict[str, str]:
    """Every page by its name under docs/reference."""
    return {
        "exit-codes.md": exit_codes(),
        "errors.md": errors(),
        "reasons.md": reasons(),
        "job-file.md": job_file(),
    }
