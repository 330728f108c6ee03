"""The committed files that the tidy tests read, and how a finding is told."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("streams", "projections", "adapters", "dispatch")
PROGRAMS = (*PACKAGES, "tests", "examples", "scripts", "bench")
FOLDERS = (*PROGRAMS, "docs", ".ci")
BUILT = frozenset({"__pycache__", ".pytest_cache", ".hypothesis"})


@dataclass(frozen=True)
class Source:
    """One Python file. `path` is relative to the root of the repository."""

    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, str(self.path))

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node, in the order of the text."""
        return sorted(ast.walk(self.tree), key=lambda node: getattr(node, "lineno", 0))

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def at(self, node: ast.AST, finding: str) -> str:
        """The finding with its place in front."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}: {finding}"

    def says(self, node: ast.AST, mark: str) -> bool:
        """Whether the node's first line carries `# <mark>: <a reason>`."""
        _, found, reason = self.lines[getattr(node, "lineno", 1) - 1].partition(f"# {mark}:")
        return bool(found and reason.strip())


def files(*folders: str, endings: tuple[str, ...] = ("",)) -> Iterator[Path]:
    """Every file under the folders whose name ends so, what tools have built left out; in a stable order."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            inside = path.relative_to(ROOT)
            if path.is_file() and path.name.endswith(endings) and not BUILT.intersection(inside.parts):
                yield path


def committed() -> Iterator[Path]:
    """Every file of the repository that people read: all folders of ours, and the files beside them."""
    yield from (path for path in sorted(ROOT.iterdir()) if path.is_file() and not path.name.startswith(".coverage"))
    yield from files(*FOLDERS)


@cache
def source_of(path: Path) -> Source:
    """One file, read and parsed once a run."""
    return Source(path.relative_to(ROOT), path.read_text())


def sources(*folders: str) -> list[Source]:
    """The Python files under the folders, parsed on demand."""
    return [source_of(path) for path in files(*folders, endings=(".py",))]


def planted(text: str, path: str = "dispatch/planted.py") -> Source:
    """A source made up to show that a rule finds what it is for."""
    return Source(Path(path), text)


def none_of(findings: Iterable[str]) -> None:
    """Fail with every finding on a line of its own."""
    if found := list(findings):
        pytest.fail("\n".join(["", *found]), pytrace=False)
