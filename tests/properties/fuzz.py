"""A fuzzer: inputs made of real ones by damage, for a stated time; whatever fails is printed so that it can be kept.

`FUZZ_SECONDS` is the time of each target (3 by default, more in continuous integration), `FUZZ_SEED` where to begin.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable

SECONDS = float(os.environ.get("FUZZ_SECONDS", "3"))
SEED = int(os.environ.get("FUZZ_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)

BITS = (
    *(
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\\u0000",
        b"\\ud800",
        b"\r",
        b"\t",
        b"\n",
        b"\n---\n",
        b" ",
    ),
    *(b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-1", b"0", b"9" * 40, b"1.5", b'""', b"''", b"{}", b"[]"),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b'"',
        b"'",
        b"\\",
        b"#",
        b"&a ",
        b"*a",
        b"!!x ",
        b"? ",
        b"- ",
        b"<<: ",
        b"|\n",
    ),
    *(b"*", b">", b".", b"dispatch.", b"_controls", b"DISPATCH_X", b"seq-1", b"2026-11-29T22:08:00", b"0000-00-00T"),
    *(b"[" * 2000, b"x" * 70_000, b"{a: " * 1500, b"60d", b"0s", b"1ms", b"64T", b"--hold"),
)


def damaged(chance: random.Random, corpus: list[bytes]) -> bytes:
    """One of the corpus, or two of them joined, with one to eight places changed."""
    data = bytearray(chance.choice(corpus))
    if chance.random() < 0.1:
        other = chance.choice(corpus)
        data[chance.randrange(len(data) + 1) :] = other[chance.randrange(len(other) + 1) :]
    for _ in range(chance.randrange(1, 9)):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.choice((0, 1, 1, 2, 4, 16, 64)))
        match chance.randrange(5):
            case 0:
                data[at:to] = chance.choice(BITS)
            case 1:
                data[at:at] = chance.choice(BITS)
            case 2:
                del data[at:to]
            case 3:
                data[at:at] = data[at:to] * chance.choice((1, 2, 50))
            case _:
                if at < len(data):
                    data[at] = chance.randrange(256)
    return bytes(data)


def fuzz(corpus: Iterable[bytes], target: Callable[[bytes], object]) -> int:
    """Damaged inputs given to `target` until the time is over; how many. AssertionError with the input that failed."""
    known = [data for data in corpus if data]
    seed, count, over_at = SEED, 0, time.monotonic() + SECONDS
    while time.monotonic() < over_at:
        data = damaged(random.Random(seed), known)
        try:
            target(data)
        except Exception as error:  # any: whatever it is, it is what was looked for
            raise AssertionError(f"FUZZ_SEED={seed}: {type(error).__name__}: {error}\n{data[:4000]!r}") from error
        seed, count = seed + 1, count + 1
    return count
