"""How many seeds it takes until a planted bug breaks a law; the table of what was found.

Errors: `StumblesError`: the mutated code raises in most runs, so nothing is told by the laws that break.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from tests.simulator.mutants.every import MUTANTS
from tests.simulator.mutants.plant import Mutant, planted
from tests.simulator.run import RAISED, STEPS, Ran, run
from tests.simulator.swarm import SHAPES

STUMBLES_AFTER = 20
ROOT = Path(__file__).parents[3]
CAUGHT = Path(__file__).with_name("caught.json")


class Caught(msgspec.Struct, frozen=True, kw_only=True):
    """The seed, shape and law by which a mutant was caught, and how many seeds from the first on that took."""

    mutant: str
    seed: int
    shape: str
    law: str
    what: str
    seeds: int


def recorded() -> dict[str, Caught]:
    """What the last search found, by mutant."""
    if not CAUGHT.exists():
        return {}
    return {caught.mutant: caught for caught in msgspec.json.decode(CAUGHT.read_bytes(), type=list[Caught])}


def record(found: Iterable[Caught]) -> None:
    """Keep what was found, beside what is known of other mutants that still are."""
    names = [mutant.name for mutant in MUTANTS]
    known = {**recorded(), **{caught.mutant: caught for caught in found}}
    kept = [known[name] for name in names if name in known]
    CAUGHT.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")


def attempt(mutant: Mutant, seed: int) -> Ran:
    """One run of the mutated code, in the shape whose turn it is at this seed, and with the mutant's theme."""
    shapes = mutant.shapes or SHAPES
    return run(seed, steps=mutant.steps, shape=f"{shapes[seed % len(shapes)]}:{mutant.theme}")


class StumblesError(Exception):
    """A planted bug that does not run is none: it raises of its own in most runs."""


def search(mutant: Mutant, first: int, seeds: int) -> Caught | None:
    """The first seed that breaks one of the laws that this mutant is to break; None within so many.

    Raises StumblesError where most of the first runs raise instead.
    """
    raised = 0
    with planted(mutant):
        for count in range(1, seeds + 1):
            ran = attempt(mutant, first + count - 1)
            if ran.law in mutant.laws:
                return _caught(mutant, ran, count)
            raised += ran.law == RAISED
            if count >= STUMBLES_AFTER and 2 * raised > count:
                raise StumblesError(f"{mutant.name} raised in {raised} of {count} runs: {ran.what}")
    return None


def _caught(mutant: Mutant, ran: Ran, seeds: int) -> Caught:
    return Caught(
        mutant=mutant.name,
        seed=ran.seed,
        shape=ran.world.swarm.shape,
        law=ran.law or "",
        what=ran.what[:200],
        seeds=seeds,
    )


def search_all(first: int, seeds: int, only: str, say: Callable[[str], None]) -> int:
    """Every mutant, a line each; how many were not caught."""
    found, missed = [], 0
    for mutant in MUTANTS:
        if only and only not in mutant.name:
            continue
        caught = search(mutant, first, seeds)
        if caught is None:
            missed += 1
            say(f"{mutant.name:<46} NOT CAUGHT in {seeds} seeds")
            continue
        found.append(caught)
        record([caught])
        say(f"{mutant.name:<46} {caught.law} in {caught.seeds} seeds: {caught.what[:90]}")
    if found:
        say(f"{len(found)} caught, {missed} not; median {statistics.median(c.seeds for c in found):g} seeds")
    return missed


def table() -> str:
    """Mutation, the rule it takes away, the law that broke, and after how many seeds, in Markdown."""
    known = recorded()
    counts = [caught.seeds for caught in known.values()]
    lines = [
        "# Planted bugs",
        "",
        "Written by `make mutants`; not edited. Each is the code with one rule removed or weakened, in the files named: those",
        "of the core are what runs in production; under `adapters/simulated` and `tests/simulator` it is the double's own",
        "keeping of the rule that goes, since the real adapter's is not simulated. ◆ marks the rules",
        "that the design shows to be needed. A bug counts as caught when one of the laws named for it breaks; one that raises",
        "of its own does not. Seeds are counted from the first on, in runs of the shapes where the rule is at work and, where",
        "one is named, of one theme: an ordinary run has one theme of many, or none. Longer runs are told after the theme.",
        "",
        f"{len(known)} of {len(MUTANTS)} are caught; the median took {statistics.median(counts) if counts else 0:g} seeds.",
        "",
        "| planted bug | the rule that is gone | planted in | law | seeds | runs | what was seen |",
        "|---|---|---|---|---:|---|---|",
    ]
    for mutant in MUTANTS:
        caught = known.get(mutant.name)
        mark = " ◆" if mutant.marked else ""
        what = caught.what[:110].replace("|", "/") if caught else ""
        law, seeds = (caught.law, f"{caught.seeds:,}") if caught else ("none", "")
        lines.append(
            f"| {mutant.name}{mark} | {mutant.rule} | {_files(mutant)} | {law} | {seeds} | {_runs(mutant)} | {what} |"
        )
    return "\n".join(lines) + "\n"


def _files(mutant: Mutant) -> str:
    """The files that its edits change."""
    modules = dict.fromkeys(edit.place.partition(":")[0] for edit in mutant.edits)
    return ", ".join(f"`{_file(module)}`" for module in modules)


def _file(module: str) -> str:
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"


def _runs(mutant: Mutant) -> str:
    """Which runs its seeds were counted in."""
    shapes = ", ".join(mutant.shapes)
    longer = f"{mutant.steps} steps" if mutant.steps != STEPS else ""
    return "; ".join(part for part in (shapes, mutant.theme, longer) if part)
