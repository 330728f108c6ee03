"""A soak's sum: the same whoever ran which part, whole whatever ends it."""

from __future__ import annotations

import signal

import msgspec
import pytest

from streams.messages.reasons import Reason
from tests.simulator import soaking
from tests.simulator.soak import WHOLE, Soaked, report, soak
from tests.simulator.soaking import Wanted, soak_by_many
from tests.simulator.swarm import SHAPES

SECONDS = 600.0


def facts(soaked: Soaked) -> dict[str, object]:
    """What the seeds alone decide."""
    return {**msgspec.to_builtins(soaked), "core_seconds": 0}


def test_two_parts_merged_are_the_whole() -> None:
    whole = soak(range(31, 37), seconds=SECONDS)
    later, earlier = soak(range(34, 37), seconds=SECONDS), soak(range(31, 34), seconds=SECONDS)
    later.merge(earlier)
    assert facts(later) == facts(whole)
    assert (whole.seeds, whole.ranges) == (6, [(31, 36)])
    assert later.core_seconds > earlier.core_seconds > 0


def test_a_seed_is_never_counted_twice() -> None:
    soaked = soak(range(31, 34), seconds=SECONDS)
    with pytest.raises(ValueError, match="seed 33 is counted twice"):
        soaked.merge(soak(range(33, 35), seconds=SECONDS))


def test_a_report_names_the_stretches_that_were_run_and_what_broke_in_the_order_of_seeds() -> None:
    soaked = Soaked(ranges=[(1, 500)], steps=50_000, core_seconds=2.0, broken=[(400, "L4", "two executions at once")])
    soaked.merge(Soaked(ranges=[(751, 1000)], steps=25_000, core_seconds=1.0, broken=[(760, "L9", "never ended")]))
    soaked.merge(Soaked(broken=[(7, "L2", "authorized after the cancel")]))
    told = report(soaked)
    assert "Seeds 1 to 500, 751 to 1000: 750 schedules, 75,000 steps in 3 core seconds (25,000 steps per" in told
    assert told.index("| 7 | L2 |") < told.index("| 400 | L4 |") < told.index("| 760 | L9 |")
    assert "Laws broken: 3." in told


def test_a_whole_soak_that_gave_not_every_reason_fails_and_a_short_one_does_not() -> None:
    most = {reason.value: 1 for reason in Reason if reason is not Reason.BRAKE_TRIPPED}
    every_shape = dict.fromkeys(SHAPES, 1)
    short = Soaked(ranges=[(1, WHOLE - 1)], shapes=every_shape, reasons=most)
    assert (short.unreached, short.failed) == (["brake-tripped"], False)
    short.merge(Soaked(ranges=[(WHOLE, WHOLE)]))
    assert short.failed
    short.merge(Soaked(reasons={"brake-tripped": 1}))
    assert not short.failed
    assert not Soaked(ranges=[(1, WHOLE)], shapes={"kueue": WHOLE}).failed, "one shape alone does not give them all"


def test_several_processes_run_each_seed_once() -> None:
    written: list[dict[str, object]] = []
    wanted = Wanted(first_seed=31, schedules=6, seconds=SECONDS, processes=2, chunk=2)
    done = soak_by_many(wanted, lambda so_far: written.append(facts(so_far)))
    assert facts(done) == facts(soak(range(31, 37), seconds=SECONDS))
    assert written[-1] == facts(done)


def test_what_is_interrupted_keeps_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soaking, "WRITE_EVERY_S", 0.0)
    written: list[int] = []

    def write(so_far: Soaked) -> None:
        if not written:
            signal.raise_signal(signal.SIGTERM)
        written.append(so_far.seeds)

    done = soak_by_many(Wanted(first_seed=31, seconds=SECONDS, chunk=1), write)
    assert 1 <= done.seeds <= 2, "no chunk is handed out after the signal"
    assert written[-1] == done.seeds
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_what_fails_keeps_what_was_done() -> None:
    written: list[int] = []
    with pytest.raises(ValueError, match="no such shape is none of"):
        soak_by_many(Wanted(schedules=1, shape="no such shape"), lambda so_far: written.append(so_far.seeds))
    assert written == [0]
