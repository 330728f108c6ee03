"""A soak by several processes: chunks of seeds, handed out in order, each run once, the sums merged as they come.

Whatever ends it, the report holds every chunk that was done; it is written once a minute besides.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from types import FrameType

import msgspec

from tests.simulator.silent import silence
from tests.simulator.soak import Soaked, soak

CHUNK = 250
# Worlds are cycles, and the collector looks for them every 700 new objects: a tenth of the time of a soak.
COLLECT_EVERY = 100_000
WRITE_EVERY_S = 60.0


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """How much, and by how many. `schedules` None: as many as there is time for."""

    first_seed: int = 1
    schedules: int | None = None
    seconds: float = 60.0
    processes: int = 1
    shape: str | None = None
    chunk: int = CHUNK

    def chunks(self) -> Iterator[range]:
        """Stretches of seeds that have none in common."""
        first = self.first_seed
        end = None if self.schedules is None else first + self.schedules
        while end is None or first < end:
            last = first + self.chunk if end is None else min(first + self.chunk, end)
            yield range(first, last)
            first = last


def chunk_of(seeds: range, shape: str | None, until: float) -> Soaked:
    """One chunk, in a process of its own, or as much of it as there is time for (monotonic seconds)."""
    return soak(seeds, seconds=max(0.0, until - time.monotonic()), shape=shape)


def soak_by_many(wanted: Wanted, write: Callable[[Soaked], None]) -> Soaked:
    """Run what is wanted. `write` is given the sum so far, once a minute and at the end, however that comes.

    A first SIGINT or SIGTERM lets the chunks in hand come to their end.
    """
    soaked, until = Soaked(), time.monotonic() + wanted.seconds
    chunks, running = wanted.chunks(), set[Future[Soaked]]()
    written_at = time.monotonic()
    try:
        with interrupted() as over, _pool(wanted.processes) as pool:
            while True:
                while len(running) < wanted.processes and not over.is_set() and time.monotonic() < until:
                    seeds = next(chunks, None)
                    if seeds is None:
                        break
                    running.add(pool.submit(chunk_of, seeds, wanted.shape, until))
                if not running:
                    break
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for one in done:
                    soaked.merge(one.result())
                if time.monotonic() - written_at >= WRITE_EVERY_S:
                    write(soaked)
                    written_at = time.monotonic()
    finally:
        write(soaked)
    return soaked


def _pool(processes: int) -> ProcessPoolExecutor:
    """Processes that begin with nothing, leave signals to the one that hands out, and do not outlive it."""
    return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_begin)


def _begin() -> None:
    silence(for_good=True)
    gc.set_threshold(COLLECT_EVERY)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def interrupted() -> Iterator[threading.Event]:
    """An event that the first SIGINT or SIGTERM sets; a second one does what it always did."""
    over = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        over.set()
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, note)
    try:
        yield over
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
