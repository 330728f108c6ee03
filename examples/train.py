"""A tiny trainer with several ranks: fits a line, averages gradients over TCP, checkpoints behind the fence, resumes.

    python examples/train.py --steps 50 --dir checkpoints --marks marks --crash-at 20

Every rank writes one line when it begins and one when it ends to the file of marks, so that what ran can be counted
from outside. `--crash-at` ends the last rank with exit code 3 at that step, once; the next execution resumes from the
last checkpoint. On TERM it saves and ends with 143.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from dispatch.fence import Fence, take

RANK, WORLD_SIZE = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
ADDRESS = (os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "29500")))
MEET_WITHIN_S = 60.0
MODEL = "model.json"


class Group:
    """The ranks of this execution: rank 0 gathers one number list from each, and gives all the average."""

    def __init__(self) -> None:
        self.lines: list[IO[str]] = []
        if WORLD_SIZE > 1:
            sockets = self._gather() if RANK == 0 else [self._join()]
            self.lines = [peer.makefile("rw") for peer in sockets]

    def average(self, numbers: list[float]) -> list[float]:
        """The average over all ranks. Raises ConnectionError when one of them is gone."""
        if RANK > 0:
            self._say(self.lines[0], numbers)
            return self._hear(self.lines[0])
        everyone = [numbers, *(self._hear(line) for line in self.lines)]
        average = [sum(column) / len(everyone) for column in zip(*everyone, strict=True)]
        for line in self.lines:
            self._say(line, average)
        return average

    def _gather(self) -> list[socket.socket]:
        with socket.create_server(ADDRESS) as server:
            server.settimeout(MEET_WITHIN_S)
            return [server.accept()[0] for _ in range(WORLD_SIZE - 1)]

    def _join(self) -> socket.socket:
        give_up_at = time.monotonic() + MEET_WITHIN_S
        while True:
            try:
                return socket.create_connection(ADDRESS)
            except ConnectionRefusedError:
                if time.monotonic() > give_up_at:
                    raise
                time.sleep(0.05)

    def _say(self, line: IO[str], numbers: list[float]) -> None:
        line.write(json.dumps(numbers) + "\n")
        line.flush()

    def _hear(self, line: IO[str]) -> list[float]:
        text = line.readline()
        if not text:
            raise ConnectionError("another rank is gone")
        numbers: list[float] = json.loads(text)
        return numbers


def mark(path: str | None, word: str, fence: Fence, step: int) -> None:
    """Append one line: all ranks share the file, and no line is ever torn."""
    if path is not None:
        line = f"{word} epoch={fence.epoch} rank={RANK} pid={os.getpid()} step={step} at={time.time():.3f}\n"
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(file, line.encode())
        os.close(file)


def gradient(weights: list[float], step: int) -> list[float]:
    """Of the squared error on this rank's own points of y = 3x + 1."""
    points = random.Random(step * WORLD_SIZE + RANK)
    at = [points.uniform(-1, 1) for _ in range(64)]
    errors = [weights[0] * x + weights[1] - (3 * x + 1) for x in at]
    return [sum(2 * e * x for e, x in zip(errors, at, strict=True)) / len(at), sum(2 * e for e in errors) / len(at)]


def crash_once(directory: Path) -> None:
    """End at once, as a bug would; not again in a later execution."""
    try:
        (directory / "crashed").touch(exist_ok=False)
    except FileExistsError:
        return
    print(f"rank {RANK}: a bug, at last", flush=True)
    os._exit(3)


def train(options: argparse.Namespace, fence: Fence, told_to_stop: Callable[[], bool]) -> int:
    """Train from the last checkpoint on; the step reached."""
    saved = fence.directory / MODEL
    step, weights = 0, [0.0, 0.0]
    if saved.exists():
        step, weights = json.loads(saved.read_text())
    mark(options.marks, "start", fence, step)
    print(f"rank {RANK} of {WORLD_SIZE}: epoch {fence.epoch}, from step {step}", flush=True)
    group = Group()
    while step < options.steps and not told_to_stop():
        if options.crash_at == step and RANK == WORLD_SIZE - 1:
            crash_once(fence.directory)
        slope = group.average(gradient(weights, step))
        weights = [weight - 0.3 * part for weight, part in zip(weights, slope, strict=True)]
        step += 1
        if RANK == 0 and (step % options.save_every == 0 or step == options.steps):
            fence.write(MODEL, json.dumps([step, weights]).encode())
            print(f"step {step}: y = {weights[0]:.3f} x + {weights[1]:.3f}", flush=True)
        time.sleep(options.step_s)
    return step


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--steps", type=int, default=50)
    arguments.add_argument("--step-s", type=float, default=0.1, help="seconds that a step takes")
    arguments.add_argument("--save-every", type=int, default=5)
    arguments.add_argument("--dir", default="checkpoints")
    arguments.add_argument("--marks", help="the file that every rank marks its beginning and its end in")
    arguments.add_argument("--crash-at", type=int, help="the step at which the last rank crashes, once")
    options = arguments.parse_args()
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    fence = take(options.dir)
    step = train(options, fence, lambda: bool(stopping))
    mark(options.marks, "end", fence, step)
    return 143 if step < options.steps else 0


if __name__ == "__main__":
    sys.exit(main())
