"""What others may call says what it promises. (That the first line is one sentence is ruff's D205 and D415.)"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.sources import PACKAGES, Source, none_of, planted, sources

Function = ast.FunctionDef | ast.AsyncFunctionDef
UNSAID_LINES_MAX = 5
PORTS = ("streams/ports.py", "adapters/port.py")


def promised(ports: list[Source]) -> frozenset[str]:
    """The methods whose promise a port states: an implementation need not say it again."""
    return frozenset(
        node.name
        for port in ports
        for node in ast.walk(port.tree)
        if isinstance(node, Function) and node.name[0] != "_"
    )


def speaks_for_itself(function: Function) -> bool:
    """A body of one statement, a port's `...` among them, is its own promise."""
    return len(function.body) == 1


def is_brief(method: Function) -> bool:
    """A method that is read as quickly as a sentence about it."""
    return (method.end_lineno or 0) - method.body[0].lineno < UNSAID_LINES_MAX


def silent(source: Source, stated: frozenset[str]) -> Iterator[str]:
    """What is public and says nothing."""
    if source.tree.body and ast.get_docstring(source.tree) is None:
        yield f"{source.path}: the module says nothing"
    for node in source.tree.body:
        if not isinstance(node, Function | ast.ClassDef) or node.name[0] == "_":
            continue
        if ast.get_docstring(node) is None and not (isinstance(node, Function) and speaks_for_itself(node)):
            yield source.at(node, f"{node.name} says nothing")
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if not isinstance(method, Function) or method.name[0] == "_" or method.name in stated:
                continue
            if ast.get_docstring(method) is None and not is_brief(method):
                yield source.at(method, f"{node.name}.{method.name} says nothing")


def said_twice(source: Source) -> Iterator[str]:
    """Two docstrings, of which the second says nothing to anybody."""
    for node in source.nodes:
        body = getattr(node, "body", None)
        if isinstance(body, list) and len(body) > 1 and all(is_text(each) for each in body[:2]):
            yield source.at(body[1], "a second docstring")


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def test_nothing_has_two_docstrings() -> None:
    none_of(finding for source in sources(*PACKAGES) for finding in said_twice(source))
    twice = planted('def act():\n    """Act."""\n    """Do."""\n    return 1\n')
    assert list(said_twice(twice)) == ["dispatch/planted.py:3: a second docstring"]


def test_everything_public_says_what_it_promises() -> None:
    everything = sources(*PACKAGES)
    stated = promised([source for source in everything if str(source.path) in PORTS])
    none_of(finding for source in everything for finding in silent(source, stated))


def test_the_rule_finds_what_says_nothing() -> None:
    text = """
class Open:
    def append(self):
        x = 1
        return x

    def other(self):
        a = 1
        b = 2
        c = 3
        d = 4
        e = 5
        return a + b + c + d + e

    def short(self): ...

class _Closed: pass

def act():
    x = 1
    return x
"""
    assert list(silent(planted(text), frozenset({"append"}))) == [
        "dispatch/planted.py: the module says nothing",
        "dispatch/planted.py:2: Open says nothing",
        "dispatch/planted.py:7: Open.other says nothing",
        "dispatch/planted.py:19: act says nothing",
    ]
