"""Names are the field's words, nothing is put off, and no file tells of the machine it was written on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.sources import PROGRAMS, ROOT, Source, committed, none_of, planted, sources

EMPTY_WORDS = frozenset({"manager", "handler", "handlers", "helper", "helpers", "util", "utils", "common"})
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
PUT_OFF = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
HOSTS = ("pypi" + ".org", "files.python" + "hosted", "proxy.go" + "lang", "registry.npm" + "js")
MACHINE = re.compile(r"(?<![\w.-])(?<!\w\")/(work|root)/|" + "|".join(re.escape(host) for host in HOSTS))
MOCKS = ("unittest.mock", "mock", "pytest_mock")


def empty(name: str) -> bool:
    """Whether a part of the name says nothing of what the thing is."""
    return any(part.lower() in EMPTY_WORDS for part in PART.findall(name))


def defined(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """Every name that a file gives to something."""
    for node in source.nodes:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node, name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node, name
            case _:
                pass


def empty_names(source: Source) -> Iterator[str]:
    if any(empty(part) for part in source.path.with_suffix("").parts):
        yield f"{source.path}: the file's name says nothing of what is in it"
    for node, name in defined(source):
        if empty(name):
            yield source.at(node, f"{name} says nothing of what it is")


def mocks(source: Source) -> Iterator[str]:
    for node in source.nodes:
        match node:
            case ast.Import(names=given):
                modules = [alias.name for alias in given]
            case ast.ImportFrom(module=str(module), names=given):
                modules = [module, *(f"{module}.{alias.name}" for alias in given)]
            case _:
                continue
        if any(module in MOCKS for module in modules):
            yield source.at(node, "a mock agrees with whatever is asked of it: use a double that passes its suite")


def lines_with(pattern: re.Pattern[str], path: Path) -> Iterator[str]:
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
        if found := pattern.search(line):
            yield f"{path.relative_to(ROOT)}:{number}: {found.group()}"


def test_names_say_what_the_thing_is() -> None:
    none_of(finding for source in sources(*PROGRAMS) for finding in empty_names(source))


def test_no_test_rests_on_a_mock() -> None:
    none_of(finding for source in sources(*PROGRAMS) for finding in mocks(source))


def test_nothing_is_put_off() -> None:
    none_of(finding for path in committed() for finding in lines_with(PUT_OFF, path))


def test_no_file_names_this_machine_or_a_registry() -> None:
    none_of(finding for path in committed() for finding in lines_with(MACHINE, path))


def test_the_rules_find_empty_names_and_mocks() -> None:
    text = "class JobManager: pass\ndef run(url_helper): pass\nx_utils = 1\nself.common = 2\ncontextmanager = handled = 3\n"
    assert [finding.split(":")[1] for finding in empty_names(planted(text))] == ["1", "2", "3", "4"]
    assert list(empty_names(planted("", "dispatch/utils/x.py")))
    assert len(list(mocks(planted("import unittest.mock\nfrom unittest import mock\nimport mocket\n")))) == 2


def test_the_rules_find_what_is_put_off_and_where_it_was_written() -> None:
    assert PUT_OFF.search("# TO" + "DO later")
    assert MACHINE.search("see /wo" + "rk/main/x.py")
    assert MACHINE.search("https://py" + "pi.org/simple")
    assert not MACHINE.search('framework/working, a/work/b, ~/.cache, "$folder"/root/var')
