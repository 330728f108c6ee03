"""A cluster that does not answer is asked once for all its jobs, and a name that anyone may type is not kept for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from adapters.errors import AdapterError, OutcomeUnknownError, RefusedError, SilentError, UnreachableError
from adapters.simulated.adapter import SlurmAdapter
from adapters.simulated.slurm import SlurmCluster, SlurmPace, SlurmSettings
from dispatch.replica import clusters
from dispatch.replica.clusters import EVERY, NEVER_ANSWERED, UNANSWERED_MAX, BoundedAdapter, Clusters
from streams.messages.calls import Capabilities, Cessation, JobName
from streams.messages.values import Found, ObjectRef
from tests.driver import Way

CLUSTER = "sim"


def named(job: str) -> JobName:
    return JobName(installation="inst", tenant="nlp", job=job)


async def no_pause() -> None: ...


class Cluster(SlurmAdapter):
    """A simulated cluster whose Find of some jobs never ends, or raises."""

    def __init__(self) -> None:
        pace = SlurmPace(queue_s=0.0, stop_s=0.0, row_s=0.0)
        simulated = SlurmCluster(name=CLUSTER, clock=lambda: datetime.now(UTC), settings=SlurmSettings(), pace=pace)
        super().__init__(simulated, Way(), no_pause)
        self.hanging: set[str] = set()
        self.raising: dict[str, AdapterError] = {}
        self.asked: list[str] = []

    async def find(self, name: JobName) -> Found:
        self.asked.append(name.job)
        if name.job in self.hanging:
            await asyncio.Event().wait()
        if name.job in self.raising:
            raise self.raising[name.job]
        return await super().find(name)

    async def ceased(self, name: JobName, object: ObjectRef, run: int) -> Cessation:
        self.asked.append(f"ceased {name.job}")
        await asyncio.Event().wait()
        return await super().ceased(name, object, run)


class Nobody(Cluster):
    """A cluster without an agent."""

    async def capabilities(self) -> Capabilities:
        raise SilentError("no agent can be reached")


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not met():
            await asyncio.sleep(0.001)  # waits: the question to reach the cluster


async def refused_at_once(bounded: BoundedAdapter, job: str) -> None:
    async with asyncio.timeout(10):
        with pytest.raises(SilentError, match="did not answer a moment ago"):
            await bounded.find(named(job))


async def test_while_one_question_waits_too_long_no_other_job_waits_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "SILENT_FOR_S", 0.01)
    cluster = Cluster()
    cluster.hanging = {"llama", "bert"}
    bounded = BoundedAdapter(CLUSTER, cluster)
    first = asyncio.create_task(bounded.find(named("llama")))
    await until(lambda: cluster.asked == ["llama"])
    await asyncio.sleep(0.02)  # waits: the question to have waited too long
    await refused_at_once(bounded, "bert")
    assert cluster.asked == ["llama"]
    assert not first.done()
    first.cancel()


async def test_a_cluster_that_was_silent_is_asked_by_one_job_until_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "SILENT_FOR_S", 0.0)
    cluster = Cluster()
    cluster.raising = {"llama": SilentError("no agent can be reached")}
    bounded = BoundedAdapter(CLUSTER, cluster)
    with pytest.raises(SilentError, match="no agent"):
        await bounded.find(named("llama"))
    cluster.hanging = {"bert"}
    asking = asyncio.create_task(bounded.find(named("bert")))
    await until(lambda: "bert" in cluster.asked)
    monkeypatch.setattr(clusters, "SILENT_FOR_S", 60.0)
    await refused_at_once(bounded, "gpt")
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert (await bounded.find(named("gpt"))).sightings == ()
    assert len(await asyncio.gather(*(bounded.find(named(job)) for job in ("gpt", "t5")))) == 2


async def test_a_cluster_that_nobody_answers_for_is_left_alone_for_a_while() -> None:
    cluster = Cluster()
    cluster.raising = {"llama": SilentError("no agent can be reached")}
    bounded = BoundedAdapter(CLUSTER, cluster)
    with pytest.raises(SilentError, match="no agent"):
        await bounded.find(named("llama"))
    await refused_at_once(bounded, "bert")
    assert cluster.asked == ["llama"]


async def test_an_answer_about_one_jobs_broken_record_keeps_no_other_job_from_its_own() -> None:
    cluster = Cluster()
    cluster.raising = {"llama": UnreachableError("the record of llama cannot be read")}
    bounded = BoundedAdapter(CLUSTER, cluster)
    with pytest.raises(UnreachableError, match="cannot be read"):
        await bounded.find(named("llama"))
    assert (await bounded.find(named("bert"))).sightings == ()


@pytest.mark.parametrize("error", [OutcomeUnknownError("timed out"), RefusedError("not a request: newer")], ids=str)
async def test_a_question_that_an_adapter_of_this_process_leaves_unclear_is_unreachable(error: AdapterError) -> None:
    cluster = Cluster()
    cluster.raising = {"llama": error}
    with pytest.raises(UnreachableError, match=str(error)):
        await BoundedAdapter(CLUSTER, cluster).find(named("llama"))


async def test_one_jobs_time_out_silences_no_cluster_that_answered_others_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clusters, "READ_BOUND_S", 0.05)
    cluster = Cluster()
    cluster.hanging = {"llama"}
    bounded = BoundedAdapter(CLUSTER, cluster)
    slow = asyncio.create_task(bounded.find(named("llama")))
    await until(lambda: cluster.asked == ["llama"])
    monkeypatch.setattr(clusters, "READ_BOUND_S", 20.0)
    assert (await bounded.find(named("bert"))).sightings == ()
    with pytest.raises(SilentError, match="no answer within"):
        await slow
    assert (await bounded.find(named("bert"))).sightings == ()


async def test_a_question_about_one_jobs_node_that_hangs_keeps_no_other_job_from_its_find(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clusters, "SILENT_FOR_S", 0.01)
    cluster = Cluster()
    bounded = BoundedAdapter(CLUSTER, cluster)
    asked = asyncio.create_task(bounded.ceased(named("llama"), ObjectRef(cluster=CLUSTER, id="1", created="n"), 0))
    await until(lambda: cluster.asked == ["ceased llama"])
    await asyncio.sleep(0.02)  # waits: the question to have waited too long
    assert (await bounded.find(named("bert"))).sightings == ()
    assert not asked.done()
    asked.cancel()


async def test_a_time_out_about_one_jobs_node_silences_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "READ_BOUND_S", 0.01)
    cluster = Cluster()
    bounded = BoundedAdapter(CLUSTER, cluster)
    with pytest.raises(SilentError, match="no answer within"):
        await bounded.ceased(named("llama"), ObjectRef(cluster=CLUSTER, id="1", created="n"), 0)
    monkeypatch.setattr(clusters, "READ_BOUND_S", 20.0)
    assert (await bounded.find(named("bert"))).sightings == ()


async def test_names_that_nobody_answers_to_are_neither_told_nor_kept_without_bound() -> None:
    heard: list[tuple[str, str]] = []
    made = Clusters({CLUSTER: Cluster()}, lambda _: Nobody())
    made.tell(lambda cluster, verb, outcome, took_s: heard.append((cluster, outcome)))
    names = [f"typo-{number}" for number in range(3 * UNANSWERED_MAX)]
    for name in names:
        typed = made.adapter_of(name)
        assert typed is not None
        with pytest.raises(UnreachableError):
            await typed.capabilities()
    assert [each.cluster for each in made.known()] == [CLUSTER]
    assert set(heard) == {(NEVER_ANSWERED, "unreachable")}
    assert list(made._unanswered) == names[-UNANSWERED_MAX:]


@pytest.mark.parametrize("answer", [None, UnreachableError("slurmctld is down")], ids=["done", "unreachable"])
async def test_a_cluster_is_known_from_its_first_answer_on(answer: AdapterError | None) -> None:
    heard: list[str] = []
    cluster = Cluster()
    cluster.raising = {"llama": answer} if answer is not None else {}
    made = Clusters({}, lambda _: cluster)
    made.tell(lambda cluster, verb, outcome, took_s: heard.append(cluster))
    remote = made.adapter_of("hpc2")
    assert remote is not None
    assert made.known() == ()
    await asyncio.gather(remote.find(named("llama")), return_exceptions=True)
    assert made.known() == (remote,)
    assert heard == ["hpc2"]
    assert (made.last_good_find("hpc2") is None) == (answer is not None)


async def test_a_cluster_that_was_named_at_the_start_is_known_before_any_job_of_it_is_looked_at() -> None:
    given = Cluster()
    made = Clusters({CLUSTER: given}, lambda _: Nobody(), only=("hpc2", CLUSTER))
    assert [each.cluster for each in made.known()] == [CLUSTER, "hpc2"]
    assert made.adapter_of("hpc2") is made.known()[1]
    assert Clusters({}, None, only=("hpc2",)).known() == ()


async def test_a_replica_serves_only_the_clusters_it_was_told_and_tells_them() -> None:
    made = Clusters({}, lambda _: Nobody(), only=("hpc2", "gpu"))
    assert made.adapter_of("hpc3") is None
    assert made.adapter_of("hpc2") in made.known()
    assert made.serves == ("gpu", "hpc2")
    assert Clusters({}, None).serves == (EVERY,)
