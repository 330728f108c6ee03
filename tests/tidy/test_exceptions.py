"""An exception's class says whether a retry is safe, so nobody catches them all without saying why."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.sources import PROGRAMS, Source, none_of, planted, sources

ALL = frozenset({"Exception", "BaseException"})


def names(expression: ast.expr) -> Iterator[str]:
    """The names in an `except` clause."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Name):
            yield node.id


def caught(node: ast.AST) -> list[ast.expr | None]:
    """What an `except` clause or a `suppress` names; None is a bare `except`."""
    match node:
        case ast.ExceptHandler(type=expression):
            return [expression]
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=arguments):
            return [*arguments]
        case _:
            return []


def catches_all(source: Source) -> Iterator[str]:
    for node in source.nodes:
        everything = any(expression is None or not ALL.isdisjoint(names(expression)) for expression in caught(node))
        if everything and not source.says(node, "any"):
            yield source.at(node, "takes every exception: name them, or say why with `# any: <reason>`")


def test_no_except_clause_forgets_what_the_class_says() -> None:
    none_of(finding for source in sources(*PROGRAMS) for finding in catches_all(source))


def test_the_rule_finds_each_way_of_catching_all() -> None:
    text = """
try: pass
except ValueError: pass
except (OSError, Exception): pass
try: pass
except: pass
try: pass
except BaseException:  # any: passed on to the waiting caller
    raise
with suppress(Exception): pass
"""
    assert [finding.split(":")[1] for finding in catches_all(planted(text))] == ["4", "6", "10"]
