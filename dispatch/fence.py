"""Guards a checkpoint directory: the newest execution of a job takes it, an older one is told before it writes.

Standard library only: a training image can copy this one file. Every rank of a job does

    fence = take("checkpoints")          # this execution's number comes from DISPATCH_EPOCH
    ...
    fence.publish("step-100.pt.part", "step-100.pt")

`take` writes the number into the directory, unless a greater one is there; `publish` renames a finished file into
place while it holds the directory's lock, so that no later execution can take the directory in between. Ranks of one
execution share its number. Needs a file system with POSIX locks: local ones, NFS 4, Lustre mounted with `flock`.

FenceError
├── StaleEpochError     a newer execution has this directory: stop, and write nothing
├── NoEpochError        this process was not started by dispatch, and no number was given
└── UnreadableError     what stands in the directory is no number: a person must look
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

EPOCH = "DISPATCH_EPOCH"
HELD, LOCK = ".dispatch-epoch", ".dispatch-epoch.lock"
NUMBER = re.compile(r"[0-9]{1,18}\n?\Z")


class FenceError(Exception):
    """Nothing was written."""


class StaleEpochError(FenceError):
    """A newer execution has the directory; this one is to stop."""

    def __init__(self, directory: Path, mine: int, held: int) -> None:
        super().__init__(
            f"{directory}: execution {held} has this directory; this is execution {mine}, and must not write"
        )
        self.mine = mine
        self.held = held


class NoEpochError(FenceError):
    """There is no execution number to take the directory with."""


class UnreadableError(FenceError):
    """The directory's number cannot be read."""


class Fence:
    """One execution's right to write into one directory, checked at each write. Made by `take`."""

    def __init__(self, directory: Path, epoch: int) -> None:
        self.directory = directory
        self.epoch = epoch

    def check(self) -> None:
        """Raise StaleEpochError if a newer execution has the directory. It may take it right afterwards."""
        with _locked(self.directory):
            self._check()

    def publish(self, finished: str | os.PathLike[str], name: str | os.PathLike[str]) -> Path:
        """Rename a finished file, or a folder of a new name, into place; its path. All or nothing.

        Both names are taken from the directory if they are not absolute. Raises StaleEpochError, and then the
        finished file stays where it is.
        """
        source, target = self.directory / finished, self.directory / name
        _sync(source)
        with _locked(self.directory):
            self._check()
            source.replace(target)
            _sync(target.parent)
        return target

    def write(self, name: str | os.PathLike[str], data: bytes) -> Path:
        """Publish these bytes under that name; the path. Raises StaleEpochError before it writes anything."""
        self.check()
        draft = self.directory / f"{name}.{self.epoch}.{os.getpid()}.part"
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(data)
        try:
            return self.publish(draft, name)
        except BaseException:  # any: the draft is of no use to anyone, whatever came in between
            draft.unlink(missing_ok=True)
            raise

    def _check(self) -> None:
        held = _held(self.directory)
        if held > self.epoch:
            raise StaleEpochError(self.directory, self.epoch, held)


def take(directory: str | os.PathLike[str], epoch: int | None = None) -> Fence:
    """Take the directory for this execution, by default the one that DISPATCH_EPOCH names.

    It is made if it is not there. Waits while another execution is in the middle of a `publish`. Raises
    StaleEpochError if a newer execution has it, NoEpochError, UnreadableError.
    """
    mine = _own_epoch() if epoch is None else epoch
    if not 0 <= mine < 10**18:
        raise NoEpochError(f"{mine} is no execution number")
    path = Path(directory).absolute()
    path.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        held = _held(path)
        if held > mine:
            raise StaleEpochError(path, mine, held)
        if held < mine:
            draft = path / f"{HELD}.part"
            draft.write_text(f"{mine}\n", encoding="ascii")
            _sync(draft)
            draft.replace(path / HELD)
            _sync(path)
    return Fence(path, mine)


def _own_epoch() -> int:
    text = os.environ.get(EPOCH, "")
    if not NUMBER.match(text):
        raise NoEpochError(f"{EPOCH} is {'not set' if not text else 'no number'}: is this process run by dispatch?")
    return int(text)


def _held(directory: Path) -> int:
    """The number of the execution that has the directory; -1 if none ever had."""
    try:
        text = (directory / HELD).read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return -1
    if not NUMBER.match(text):
        raise UnreadableError(f"{directory / HELD} holds no execution number: {text[:20]!r}")
    return int(text)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the directory's lock, alone: it is never held for longer than a rename takes."""
    lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
