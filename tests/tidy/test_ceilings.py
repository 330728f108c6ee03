"""Nothing grows past what a person reads in one go: 400 lines a file, 50 a function, 5 parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.sources import PROGRAMS, Source, none_of, planted, sources

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50
PARAMETERS_MAX = 5


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many a caller may give: keyword-only ones, `*args` and `**kwargs` count, self and cls do not."""
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    if positional and positional[0].arg in {"self", "cls"}:
        positional = positional[1:]
    return len(positional) + len(given.kwonlyargs) + (given.vararg is not None) + (given.kwarg is not None)


def too_large(source: Source) -> Iterator[str]:
    if len(source.lines) > FILE_LINES_MAX:
        yield f"{source.path}: {len(source.lines)} lines, at most {FILE_LINES_MAX}"
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield source.at(node, f"{node.name} has {lines} lines, at most {FUNCTION_LINES_MAX}")
            if parameters(node) > PARAMETERS_MAX:
                yield source.at(node, f"{node.name} takes {parameters(node)} parameters, at most {PARAMETERS_MAX}")


def test_no_file_function_or_parameter_list_passes_its_ceiling() -> None:
    none_of(finding for source in sources(*PROGRAMS) for finding in too_large(source))


def test_the_ceilings_find_what_is_too_large() -> None:
    long = "def long():\n" + "    pass\n" * 50
    wide = "class A:\n    def wide(self, a, b, *, c, d, **rest): pass\n    def wider(self, a, b, *c, d, e, f): pass\n"
    assert list(too_large(planted(long))) == ["dispatch/planted.py:1: long has 51 lines, at most 50"]
    assert list(too_large(planted(wide))) == ["dispatch/planted.py:3: wider takes 6 parameters, at most 5"]
    assert list(too_large(planted("#\n" * 401))) == ["dispatch/planted.py: 401 lines, at most 400"]
