"""What the import contracts cannot see of the core's purity, and of what a training image may vendor."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from tests.tidy.sources import PROGRAMS, Source, none_of, planted, sources

PURE = ("projections/", "streams/messages/", "dispatch/decide", "dispatch/evidence", "dispatch/next_steps")
CLOCKS = frozenset({"now", "utcnow", "today", "time", "monotonic", "perf_counter"})
EFFECTS = frozenset({"open", "print", "input"})
FOR_ALL = frozenset({"structlog.configure", "logging.basicConfig", "signal.signal", "os.environ.update", "os.umask"})


def impure(source: Source) -> Iterator[str]:
    """Clocks, waits and input or output in a pure module. `now` is an argument there."""
    for node in source.nodes:
        match node:
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                yield source.at(node, "waits: the core is synchronous")
            case ast.Call(func=ast.Attribute(value=ast.Name(id="datetime" | "date" | "time"), attr=attr)) if (
                attr in CLOCKS
            ):
                yield source.at(node, f"reads a clock ({attr}): `now` is an argument")
            case ast.Call(func=ast.Name(id=name)) if name in EFFECTS:
                yield source.at(node, f"calls {name}: effects are steps")
            case _:
                pass


def foreign_imports(source: Source) -> Iterator[str]:
    """Imports from outside the standard library."""
    for node in source.nodes:
        match node:
            case ast.Import(names=given):
                modules = [alias.name for alias in given]
            case ast.ImportFrom(module=module, level=level):
                modules = [module or ""] if level == 0 else ["."]
            case _:
                continue
        for module in modules:
            if module.partition(".")[0] not in sys.stdlib_module_names:
                yield source.at(node, f"imports {module}: a training image vendors this one file")


def set_up_by_importing(source: Source) -> Iterator[str]:
    """What a module does to the whole process when it is imported: only a program, or a test's fixture, may."""
    later = {
        id(node)
        for function in source.nodes
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    for node in source.nodes:
        if isinstance(node, ast.Call) and id(node) not in later and (name := ast.unparse(node.func)) in FOR_ALL:
            yield source.at(
                node, f"calls {name} when it is imported: whoever imports it, or runs a test after it, has it"
            )


def is_pure(source: Source) -> bool:
    return source.path.as_posix().startswith(PURE)


def test_the_core_reads_no_clock_waits_for_nothing_and_has_no_effect() -> None:
    none_of(
        finding
        for source in sources("projections", "streams", "dispatch")
        if is_pure(source)
        for finding in impure(source)
    )


def test_every_place_that_has_to_be_pure_is_there() -> None:
    looked_at = [source.path.as_posix() for source in sources("projections", "streams", "dispatch")]
    assert [place for place in PURE if not any(path.startswith(place) for path in looked_at)] == []


def test_the_fence_can_be_vendored_as_one_file() -> None:
    (fence,) = [source for source in sources("dispatch") if source.path.as_posix() == "dispatch/fence.py"]
    none_of(foreign_imports(fence))


def test_importing_the_dispatch_package_alone_runs_nothing() -> None:
    (package,) = [source for source in sources("dispatch") if source.path.as_posix() == "dispatch/__init__.py"]
    assert package.tree.body == []


def test_importing_a_module_sets_up_nothing_for_the_whole_process() -> None:
    none_of(finding for source in sources(*PROGRAMS) for finding in set_up_by_importing(source))


def test_the_rules_find_a_set_up_at_import_and_none_inside_of_a_function() -> None:
    text = "structlog.configure(a=1)\ndef f():\n    structlog.configure(a=1)\nclass C:\n    os.umask(0)\n"
    assert [finding.split(":")[1] for finding in set_up_by_importing(planted(text))] == ["1", "5"]


def test_the_rules_find_a_clock_a_wait_an_effect_and_a_foreign_import() -> None:
    text = "async def f():\n    await g()\ndatetime.now(UTC)\nprint(1)\nrecord.now\ndef h(now): return now\n"
    assert [finding.split(":")[1] for finding in impure(planted(text))] == ["1", "2", "3", "4"]
    assert len(list(foreign_imports(planted("import os, msgspec\nfrom . import x\nfrom pathlib import Path\n")))) == 2
