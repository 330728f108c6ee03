"""A folder of state is used only where nobody else can write it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streams.owned import make_own, stranger


def test_a_folder_that_is_made_is_ours_alone(tmp_path: Path) -> None:
    made = tmp_path / "a" / "b"
    make_own(made)
    assert stranger(made) == ""
    assert made.stat().st_mode & 0o777 == 0o700
    make_own(made)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    assert stranger(tmp_path) == "can be written by others"
    with pytest.raises(ValueError, match=r"can be written by others.*use a folder that you alone may write"):
        make_own(tmp_path)


def test_a_folder_that_others_may_only_read_is_ours(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_own(tmp_path)


def test_another_users_folder_is_refused_though_it_is_closed_to_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path.stat().st_uid
    if own == 0:
        os.chown(tmp_path, 65534, 65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.raises(ValueError, match="belongs to another user"):
        make_own(tmp_path)
