"""Nothing in the packages is there for tests alone: what only a test calls is deleted with its test.

By name, not by type: a definition whose name no program says is found; one that shares its name with something that is
used is not. The doubles are for tests, and what a library calls by name says so: `# called: by click`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from tests.tidy.sources import PACKAGES, PROGRAMS, ROOT, Source, none_of, planted, sources

DOUBLES = ("adapters/simulated/", "streams/memory/")
WORD = re.compile(r"[A-Za-z_]\w*")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Name


def said(source: Source) -> Iterator[str]:
    """Every name that this source uses, those inside of strings too; what it defines, and its docstrings, are no use."""
    prose = {id(node.value) for node in source.nodes if isinstance(node, ast.Expr)}
    for node in source.nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")
            case ast.Constant(value=str(text)) if id(node) not in prose:
                yield from WORD.findall(text)
            case _:
                pass


def defined(source: Source) -> Iterator[tuple[Definition, str]]:
    """Functions, classes, methods, and the constants of the module, in the order of the text."""
    constants = {
        id(target)
        for node in source.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    }
    for node in source.nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node, name
            case ast.Name(id=name) if id(node) in constants:
                yield node, name
            case _:
                pass


def unused(looked_at: Iterable[Source], programs: Iterable[Source], elsewhere: str = "") -> Iterator[str]:
    """What these sources define and neither the programs nor the text `elsewhere` say by its name."""
    uses = {name for source in programs for name in said(source)} | set(WORD.findall(elsewhere))
    for source in looked_at:
        for node, name in defined(source):
            if name not in uses and not name.startswith("__") and not source.says(node, "called"):
                yield source.at(node, f"{name}: no program uses it, tests alone do, or nobody")


def twice(source: Source) -> Iterator[str]:
    """Names that the module binds again at its top level: what stands first there is read by nobody."""
    seen: set[str] = set()
    for node in source.tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                if target.id in seen:
                    yield source.at(node, f"{target.id} is defined again")
                seen.add(target.id)


def test_nothing_in_the_packages_is_used_by_tests_alone() -> None:
    programs = sources(*(folder for folder in PROGRAMS if folder != "tests"))
    packages = [each for each in sources(*PACKAGES) if not each.path.as_posix().startswith(DOUBLES)]
    none_of(unused(packages, programs, (ROOT / "pyproject.toml").read_text()))


def test_a_constant_is_defined_once() -> None:
    none_of(finding for source in sources(*PROGRAMS) for finding in twice(source))


def test_the_rules_find_what_nobody_uses_and_nothing_else() -> None:
    text = (
        'UNREAD = 1\nREAD: int = 2\nclass Alone:\n    def lone(self):\n        """Calls lone."""\n'
        "def f():\n    return READ, g.attribute, 'by_name'\n"
        "def by_name(): ...\ndef attribute(): ...\ndef run(): ...  # called: by the library\n"
    )
    source = planted(text)
    assert [finding.split(":")[1] for finding in unused([source], [source])] == ["1", "3", "4", "6"]
    assert [finding.split(":")[1] for finding in twice(planted("A = 1\nB = A\nA: int = 2\ndef f():\n    B = 3\n"))] == [
        "3"
    ]
