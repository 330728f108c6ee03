"""Folders of state: believed only where nobody else can write them, for what is in them decides what runs as us."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def stranger(folder: Path) -> str:
    """Who else may have put what is in `folder`, in words that follow its name; "" for nobody but us and root.

    Raises OSError where it cannot be looked at.
    """
    held = folder.stat()
    if held.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    if held.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by others"
    return ""


def make_own(folder: Path) -> None:
    """Make `folder`, readable by us alone, if there is none. Raises ValueError where others may write it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if who := stranger(folder):
        raise ValueError(f"{folder} {who}, who could decide what runs here: use a folder that you alone may write")
