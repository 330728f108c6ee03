"""Files that are whole or absent, whatever is killed when.

Standard library only, and without pathlib: a job's runner imports this, and starts with every run.

OSError
└── NotAFileError  what lies at the path is a pipe, a socket, a device or a folder
"""

from __future__ import annotations

import errno
import os
import stat

DRAFT = ".draft-"
AnyPath = str | os.PathLike[str]


class NotAFileError(OSError):
    """There is something at this path, and it is no file; its `strerror` says so in words."""

    def __init__(self) -> None:
        super().__init__(errno.ENXIO, "it is a pipe, a socket, a device or a folder, not a file")


def open_file(path: AnyPath, flags: int, mode: int = 0o600) -> int:
    """A descriptor of a regular file, or of /dev/null, at a path that others may have put anything at.

    Never waits: a pipe's opening would, until somebody came to its other end. Raises OSError, NotAFileError too.
    """
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a pipe that nobody reads
            raise NotAFileError from None
        raise
    there = os.fstat(descriptor)
    if not (stat.S_ISREG(there.st_mode) or os.path.samestat(there, os.stat(os.devnull))):
        os.close(descriptor)
        raise NotAFileError
    os.set_blocking(descriptor, True)
    return descriptor


def sync_folder(folder: AnyPath) -> None:
    """Make renames and links in this folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: AnyPath, data: bytes, *, durable: bool = True) -> None:
    """Replace the file by one rename: a reader sees the old bytes or the new ones."""
    put(path, data, durable=durable)
    if durable:
        sync_folder(os.path.dirname(os.fspath(path)))


def put(path: AnyPath, data: bytes, *, durable: bool = True) -> None:
    """`write_whole`, but that a power cut may bring the old bytes back until the folder is synced."""
    path = os.fspath(path)
    draft = _draft(path, data, durable=durable)
    try:
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise


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


def rotate(path: AnyPath, bytes_max: int) -> None:
    """Put a log that has grown so large aside as `.1`, in place of the one before it: two are kept, whatever is written.

    Before it is opened for more; whoever has it open writes on to the one put aside. Raises OSError.
    """
    path = os.fspath(path)
    try:
        if os.stat(path).st_size >= bytes_max:
            os.replace(path, f"{path}.1")
    except FileNotFoundError:  # nothing was written yet, or another starter put it aside
        return


def draft_name(path: str) -> str:
    """A name beside `path` that nobody else uses; readers pass over it."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f"{DRAFT}{name}-{os.getpid()}-{os.urandom(4).hex()}")


def write_new(path: AnyPath, data: bytes, *, durable: bool = True) -> None:
    """Make a file that nobody reads yet. Its name survives a power cut once the folder is synced."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        write_all(descriptor, data)
        if durable:
            os.fsync(descriptor)
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, however little a nearly full disk takes at a time."""
    written = 0
    while written < len(data):
        written += os.write(descriptor, data[written:])


def _draft(path: str, data: bytes, *, durable: bool) -> str:
    draft = draft_name(path)
    write_new(draft, data, durable=durable)
    return draft
