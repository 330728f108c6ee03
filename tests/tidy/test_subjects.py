"""A subject is spelled in one place, so that every token in it was checked."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.tidy.sources import PACKAGES, Source, none_of, planted, sources

SPELLED_IN = frozenset({"streams/subjects.py", "streams/permissions.py", "streams/jetstream/layout.py"})
SUBJECT = re.compile(r"\bdispatch\.(job|command|receipt|wake|timer|shard|agent)\.")


def docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def spelled(source: Source) -> Iterator[str]:
    """Strings that hold a subject; prose may name one."""
    prose = set(docstrings(source.tree))
    for node in source.nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or node in prose:
            continue
        if found := SUBJECT.search(node.value):
            yield source.at(node, f"spells a subject ({found.group()}…): ask streams.subjects for it")


def test_subjects_are_spelled_in_one_place() -> None:
    elsewhere = [source for source in sources(*PACKAGES) if source.path.as_posix() not in SPELLED_IN]
    none_of(finding for source in elsewhere for finding in spelled(source))


def test_the_rule_finds_a_subject_and_leaves_prose_and_modules_alone() -> None:
    text = '"""Reads `dispatch.job.<tenant>.<job>`."""\nx = f"dispatch.job.{t}.{j}"\ny = "dispatch.cli.main"\nz = "dispatch.wake.>"\n'
    assert [finding.split(":")[1] for finding in spelled(planted(text))] == ["2", "4"]
