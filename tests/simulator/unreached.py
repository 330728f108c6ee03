"""Branches of the core that simulation does not reach, each with its reason: (file, branch as `reached` tells it)."""

from __future__ import annotations

NO_FIND = (
    "if found is None or capabilities is None: → "
    "never = not record.submissions and not record.objects and record.submitted is None"
)
TOO_LARGE = 'return Pass(Result.UNREACHABLE, record, why=f"what the cluster shows cannot be kept: {error}")'
UNREACHED: dict[tuple[str, str], str] = {
    (
        "dispatch/decide/__init__.py",
        "case commands.SetControls(): → case _:",
    ): "`assert_never`: the type checker proves that every command has its case",
    (
        "dispatch/evidence.py",
        "if held is None or known is None or known.proven: → return None",
    ): "a pass asks only of runs that are still to be proven gone; the function promises it of itself",
    (
        "dispatch/next_steps/__init__.py",
        "if record.strange or record.submitted is None: → return ()",
    ): "a pass ends before it decides of such a record; `next_steps` promises it of itself",
    (
        "dispatch/supervisor.py",
        TOO_LARGE,
    ): "the simulated store takes an event of any size; a real one's refusal is tests/integration/nats/test_sizes.py's",
    (
        "projections/settled.py",
        NO_FIND,
    ): "asked by `dispatch why` of a job whose cluster was never asked; a pass that decides has always a Find",
}
