"""Clusters that can do less than the others, or of which nobody can tell; a crowd; a job whose cluster is gone."""

from __future__ import annotations

from dispatch.supervisor import STEPS_MAX, Result
from streams.messages.values import CessationBasis, Verb
from tests.simulator.scenarios.steps import ended, unable
from tests.simulator.script import Script


def basis(s: Script) -> CessationBasis | None:
    """On whose word the processes of the first run are taken for gone."""
    run = next(iter(s.world.watch.record.objects.values())).runs[0]
    return run.basis if run.proven else None


def calls_of(s: Script, verb: Verb) -> int:
    return sum(call.verb is verb for call in s.world.watch.record.calls.values())


def a_cluster_that_cannot_tell_of_processes() -> Script:
    """An end that was seen is taken for the processes' too; of an object that is only absent nobody says anything."""
    s = unable("slurm", cessation=False)
    s.mishaps.hide(s.first)
    s.settles(s.one, 2)
    assert basis(s) is None
    s.mishaps.show(s.first)
    ended(s)
    s.settles(s.one, 2)
    assert basis(s) is CessationBasis.PRESUMED
    return s


def a_cluster_whose_word_is_waited_for_so_long() -> Script:
    """Once the cluster's own time has passed since the end, the processes are presumed gone."""
    s = unable("slurm", presume_after_s=600.0)
    s.cluster.deny_cessation = True
    ended(s)
    s.settles(s.one, 2)
    assert basis(s) is None
    s.waits(700)
    s.settles(s.one, 2)
    assert basis(s) is CessationBasis.PRESUMED
    return s


def a_cluster_that_may_only_be_looked_at() -> Script:
    """Nothing is started, opened, held or stopped there; evidence is taken."""
    s = Script("slurm")
    s.cluster.otherwise = {"read_only": True}
    s.settles(s.one, 2)
    assert not s.jobs
    s.cluster.otherwise = {}
    s.settles(s.one)
    s.cluster.otherwise = {"read_only": True}
    s.settles(s.one, 2)
    assert calls_of(s, Verb.OPEN) == 0
    s.holds()
    s.cancels()
    s.settles(s.one, 2)
    assert calls_of(s, Verb.STOP_JOB) == 0
    return s


def a_cluster_that_cannot_hold() -> Script:
    """The hold is kept by the gate alone; a run goes on, `now` or not, once the cluster can no longer requeue."""
    s = unable("slurm", holds=False)
    s.holds(now=True)
    s.cluster.otherwise = {"holds": False, "requeue_of": ()}
    s.settles(s.one, 2)
    assert calls_of(s, Verb.HOLD) == calls_of(s, Verb.REQUEUE) == 0
    return s


def a_cluster_that_nobody_serves() -> Script:
    """Its jobs wait, and nothing is decided."""
    s = Script("slurm")
    s.cluster.name = "elsewhere"
    s.settles(s.one)
    assert s.world.last_pass is not None
    assert s.world.last_pass.result is Result.NO_ADAPTER
    s.cluster.name = "sim"
    s.settles(s.one)
    return s


def a_crowd_is_stopped_by_more_than_one_pass() -> Script:
    """One pass takes so many steps; the next goes on."""
    s = Script("slurm")
    s.settles(s.one)
    for _ in range(STEPS_MAX + 6):
        s.people.submit(s.world.name)
    s.cancels()
    s.settles(s.one)
    s.passes(s.one)
    assert any(job.alive for job in s.jobs)
    s.rest()
    s.settles(s.one)
    assert all(not job.alive for job in s.jobs)
    return s


TOLD = (
    a_cluster_that_cannot_tell_of_processes,
    a_cluster_whose_word_is_waited_for_so_long,
    a_cluster_that_may_only_be_looked_at,
    a_cluster_that_cannot_hold,
    a_cluster_that_nobody_serves,
    a_crowd_is_stopped_by_more_than_one_pass,
)
