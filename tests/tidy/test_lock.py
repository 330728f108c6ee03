"""The lock file holds every dependency at one version with its hashes, and no place to fetch it from."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tidy.sources import ROOT

LOCK = (ROOT / "requirements.lock").read_text()
PINNED = re.compile(r"^([a-z0-9-]+)==([^ ;\\]+)[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)


def wanted() -> list[Requirement]:
    """What pyproject.toml asks for, to run and to develop."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return [Requirement(line) for line in [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]]


def test_every_dependency_is_locked_at_a_version_that_pyproject_allows() -> None:
    locked = {name: version for name, version, _ in PINNED.findall(LOCK)}
    for requirement in wanted():
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), requirement


def test_every_line_of_the_lock_is_hashed() -> None:
    named = re.findall(r"^[^\s#][^\n]*", LOCK, re.MULTILINE)
    assert len(named) == len(PINNED.findall(LOCK)) > len(wanted())


def test_the_lock_names_no_place() -> None:
    assert "://" not in LOCK
    assert not re.search(r"^--|^-[a-z]", LOCK, re.MULTILINE)
