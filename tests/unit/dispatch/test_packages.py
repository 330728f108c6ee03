"""A package of another distribution under one of our names is told in one sentence, before it does harm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dispatch.packages import PACKAGES, ForeignPackageError, check_packages
from dispatch.packages import ROOT as ROOT_NAME

ROOT = Path(ROOT_NAME)


def install(site: Path, *names: str, body: str = "") -> None:
    for name in names:
        (site / name).mkdir(parents=True, exist_ok=True)
        (site / name / "__init__.py").write_text(body)


def record(site: Path, distribution: str) -> None:
    """The metadata that an installer leaves behind."""
    folder = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {distribution}\nVersion: 1.0\n")


def test_the_packages_of_this_checkout_are_ours() -> None:
    check_packages()


def test_our_packages_have_an_empty_init() -> None:
    assert [(ROOT / name / "__init__.py").read_bytes() for name in PACKAGES] == [b""] * 4


def test_a_package_that_was_overwritten_is_named_with_the_distribution_that_did_it(tmp_path: Path) -> None:
    install(tmp_path, *PACKAGES)
    install(tmp_path, "adapters", body="from .version import __version__\n")
    record(tmp_path, "adapters")
    with pytest.raises(
        ForeignPackageError, match=r"'adapters' .* the distribution 'adapters' installs the same name; give"
    ):
        check_packages(root=tmp_path, search=[str(tmp_path)])


def test_a_package_found_before_ours_is_named(tmp_path: Path) -> None:
    ours, other = tmp_path / "ours", tmp_path / "other"
    install(ours, *PACKAGES)
    install(other, "dispatch")
    record(other, "dispatch-py")
    with pytest.raises(
        ForeignPackageError, match=r"'dispatch' .*the distribution 'dispatch-py' installs the same name"
    ):
        check_packages(root=ours, search=[str(other), str(ours)])
    check_packages(root=ours, search=[str(ours), str(other)])


def test_a_folder_of_the_same_name_without_a_package_in_it_is_no_package_of_ours(tmp_path: Path) -> None:
    ours, other = tmp_path / "ours", tmp_path / "other"
    install(ours, "projections", "adapters", "dispatch")
    (other / "streams").mkdir(parents=True)
    with pytest.raises(
        ForeignPackageError, match=r"'streams' .*without __init__.py.* something else has the same name"
    ):
        check_packages(root=ours, search=[str(other), str(ours)])


def test_asking_imports_none_of_them() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import dispatch.packages as p; p.check_packages(); print(*(n for n in p.PACKAGES if n in sys.modules))"
    answer = subprocess.run([sys.executable, "-I", "-c", code, str(ROOT)], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["dispatch"]
