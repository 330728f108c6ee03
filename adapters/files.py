"""Files that are whole or absent, whatever is killed when.

Standard library only, and without pathlib: a job's runner imports this, and starts with every run.
"""

from __future__ import annotations

import os

DRAFT = ".draft-"
AnyPath = str | os.PathLike[str]


def sync_folder(folder: AnyPath) -> None:
    """Make renames and links in this folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: AnyPath, data: bytes, *, durable: bool = True) -> None:
    """Replace the file by one rename: a reader sees the old bytes or the new ones."""
    path = os.fspath(path)
    draft = _draft(path, data, durable=durable)
    os.replace(draft, path)
    if durable:
        sync_folder(os.path.dirname(path))


def write_once(path: AnyPath, data: bytes) -> bool:
    """Make the file if it is absent; whether this call made it. Of any number of writers one wins, for good."""
    path = os.fspath(path)
    draft = _draft(path, data, durable=True)
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(draft)
    sync_folder(os.path.dirname(path))
    return True


def read_or_none(path: AnyPath) -> bytes | None:
    """The file's bytes; None if there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def draft_name(path: str) -> str:
    """A name beside `path` that nobody else uses; readers pass over it."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f"{DRAFT}{name}-{os.getpid()}-{os.urandom(4).hex()}")


def write_new(path: AnyPath, data: bytes, *, durable: bool = True) -> None:
    """Make a file that nobody reads yet. Its name survives a power cut once the folder is synced."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        written = 0
        while written < len(data):
            written += os.write(descriptor, data[written:])
        if durable:
            os.fsync(descriptor)
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(descriptor)


def _draft(path: str, data: bytes, *, durable: bool) -> str:
    draft = draft_name(path)
    write_new(draft, data, durable=durable)
    return draft
