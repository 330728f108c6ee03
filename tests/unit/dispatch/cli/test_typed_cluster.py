"""A cluster that was typed binds: views are of it alone, and no order goes to a job on another one.

Two clusters of one tenant, `sim` and `hpc9`, each with a job that waits for a proof about a node named n1.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.simulated.slurm_mishaps import SlurmMishaps
from dispatch.cli import completing
from dispatch.cli.commands import attest, cancel, dispose, hold, listing, release, requeue, status, submit, verify
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.job_doctor import examine_job
from dispatch.cli.main import run
from dispatch.cli.orders import chosen
from dispatch.cli.params import ChangeFlags, GlobalFlags
from dispatch.config import Found
from dispatch.jobfile import JobFileError
from projections.fleet import encode, entry_of
from projections.status import Around
from streams.messages.events import CessationSeen
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.values import CessationBasis, Phase
from tests.driver import CLUSTER, Driver
from tests.unit.dispatch.cli.stage import EXAMPLES, SETTINGS, Stage

OTHER = "hpc9"
YES = ChangeFlags(reason="wrong data mix", yes=True)
WORD = ChangeFlags(reason="pulled the plug", confirm="n1")
OFF = attest.AttestOptions(node="n1", every=True, state="off")
LABELLED = ("project=x",)
AGAIN = PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=3, backoff=Backoff(first=0))


class Elsewhere(Driver):
    """A job of the other cluster."""

    on = OTHER


class Scene:
    """`llama` on sim and `bert` on hpc9, on one bus, both in the status bucket."""

    def __init__(self, llama: Driver, bert: Driver) -> None:
        self.llama, self.bert = llama, bert
        self.drivers = (llama, bert)

    def stage(self, cluster: str | None, change: ChangeFlags | None = None, *, as_json: bool = False) -> Stage:
        """A tool to which `--cluster` was typed, as the settings then say too."""
        stage = Stage(self.llama, GlobalFlags(timeout=0.5, cluster=cluster, json=as_json), change)
        if cluster is not None:
            stage.__dict__["settings"] = replace(SETTINGS, cluster=Found(cluster, "--cluster"))
        return stage

    async def cancelled(self) -> list[str]:
        """The jobs whose cancel is committed."""
        return [each.name.job for each in self.drivers if (await each.read()).cancel is not None]

    async def attested(self) -> list[str]:
        """The jobs that hold a person's word on a node."""
        given = {
            driver.name.job: [
                event
                for event in await driver.events()
                if isinstance(event, CessationSeen) and event.basis is CessationBasis.OPERATOR
            ]
            for driver in self.drivers
        }
        return [job for job, words in given.items() if words]


async def two_clusters() -> Scene:
    llama, bert = Driver(), Elsewhere(job="bert")
    bert.bus, bert.hands = llama.bus, replace(bert.hands, history=llama.bus.history)
    for driver in (llama, bert):
        await driver.submit("sleep 100000", nodes=2, labels={"project": "x"}, plan=RecoveryPlan(rules=(AGAIN,)))
        await driver.until(lambda d: d.phase is Phase.RUNNING)
        SlurmMishaps(driver.slurm).lose_node("n1")
        await driver.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.GATED)
        await driver.quiet()
        await driver.pass_time(20 * 60)
        entry = entry_of(driver.record, Around(now=driver.at))
        await driver.bus.buckets.put_status(entry.key, encode(entry), expected=None)
    return Scene(llama, bert)


# what is shown


@pytest.mark.parametrize(("cluster", "jobs"), [(None, ["bert", "llama"]), (OTHER, ["bert"]), (CLUSTER, ["llama"])])
async def test_list_shows_the_jobs_of_the_cluster_that_was_typed(cluster: str | None, jobs: list[str]) -> None:
    scene = await two_clusters()
    stage = scene.stage(cluster, as_json=True)
    await listing._listing(stage, listing.ListOptions())
    data = json.loads(stage.said)["data"]
    assert sorted(each["job"] for each in data["jobs"]) == jobs
    assert (data["total"], data["needs_person"]) == (len(jobs), len(jobs))


async def test_the_head_of_a_list_says_of_which_cluster_it_is_and_counts_that_alone() -> None:
    scene = await two_clusters()
    narrow, wide = scene.stage(OTHER), scene.stage(None)
    for stage in (narrow, wide):
        await listing._listing(stage, listing.ListOptions())
    assert narrow.said.startswith("prod · nlp @ hpc9 · ")
    assert " · 1 open, 1 needs a person" in narrow.said.splitlines()[0]
    assert "sim" not in narrow.said
    assert wide.said.startswith("prod · nlp · ")
    assert " · 2 open, 2 need a person" in wide.said.splitlines()[0]


async def test_status_without_a_name_is_of_the_cluster_that_was_typed() -> None:
    scene = await two_clusters()
    stage, document = scene.stage(OTHER), scene.stage(OTHER, as_json=True)
    for each in (stage, document):
        assert await status._everything(each) is Exit.DONE
    assert stage.said.startswith("prod · nlp @ hpc9 · ")
    assert "llama" not in stage.said
    data = json.loads(document.said)["data"]
    assert (data["open"], data["needs_person"]) == (1, ["bert"])
    assert [each["name"] for each in data["clusters"]] == [OTHER]


async def test_names_are_completed_from_the_cluster_that_was_typed() -> None:
    scene = await two_clusters()
    for cluster, jobs in ((None, ["bert", "llama"]), (OTHER, ["bert"])):
        async with scene.stage(cluster).session() as session:
            assert await completing._jobs(session) == jobs


# orders by label

BY_LABEL: dict[str, Callable[[Stage], Coroutine[Any, Any, int]]] = {
    "cancel": lambda stage: cancel._cancel(stage, cancel.CancelOptions(labels=LABELLED)),
    "hold": lambda stage: hold._hold(stage, hold.HoldOptions(labels=LABELLED)),
    "release": lambda stage: release._release(stage, release.ReleaseOptions(labels=LABELLED)),
    "requeue": lambda stage: requeue._requeue(stage, requeue.RequeueOptions(labels=LABELLED)),
}


async def test_a_label_with_a_cluster_chooses_the_jobs_of_that_cluster_alone() -> None:
    scene = await two_clusters()
    for cluster, jobs in ((None, ["bert", "llama"]), (OTHER, ["bert"]), (CLUSTER, ["llama"])):
        async with scene.stage(cluster).session() as session:
            assert sorted(read.job for read in await chosen(session, (), LABELLED)) == jobs


@pytest.mark.parametrize("verb", BY_LABEL)
async def test_an_order_by_label_for_a_cluster_without_such_a_job_is_exit_3_and_names_the_cluster(verb: str) -> None:
    scene = await two_clusters()
    before = [len(await driver.entries()) for driver in scene.drivers]
    with pytest.raises(CliError, match="no open job on hpc7 has project=x") as caught:
        await BY_LABEL[verb](scene.stage("hpc7", YES))
    assert caught.value.exit_code is Exit.NOT_FOUND
    assert [len(await driver.entries()) for driver in scene.drivers] == before


async def test_a_cancel_by_label_ends_the_jobs_of_the_cluster_that_was_typed_and_no_other() -> None:
    scene = await two_clusters()
    stage = scene.stage(OTHER, YES)
    assert await cancel._cancel(stage, cancel.CancelOptions(labels=LABELLED)) is Exit.DONE
    assert await scene.cancelled() == ["bert"]
    assert stage.hinted.startswith("prod · nlp @ hpc9     cancel bert (command ")


# orders by name

BY_NAME: dict[str, Callable[[Stage], Awaitable[int]]] = {
    "cancel": lambda stage: cancel._cancel(stage, cancel.CancelOptions(jobs=("llama",))),
    "cancel, also of a name never seen": lambda stage: cancel._cancel(
        stage, cancel.CancelOptions(jobs=("llama",), if_unknown="record")
    ),
    "hold": lambda stage: hold._hold(stage, hold.HoldOptions(jobs=("llama",))),
    "release": lambda stage: release._release(stage, release.ReleaseOptions(jobs=("llama",))),
    "requeue": lambda stage: requeue._requeue(stage, requeue.RequeueOptions(jobs=("llama",))),
    "dispose": lambda stage: dispose._dispose(
        stage, dispose.DisposeOptions(job="llama", disposition="gone", attempt="1/1")
    ),
    "attest": lambda stage: attest._attest(stage, attest.AttestOptions(node="n1", job="llama", state="off")),
}


@pytest.mark.parametrize("verb", BY_NAME)
@pytest.mark.parametrize("dry_run", [False, True])
async def test_no_order_goes_to_a_job_on_another_cluster_than_the_one_typed(
    verb: str, dry_run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    scene = await two_clusters()
    before = len(await scene.llama.entries())
    change = ChangeFlags(reason="x", yes=True, confirm="n1", dry_run=dry_run)
    with pytest.raises(CliError) as caught:
        await BY_NAME[verb](scene.stage(OTHER, change))
    assert caught.value.lines() == [
        "error: llama is not on hpc9; nothing was sent",
        "  why   llama is on sim",
        "  do    the same with the cluster that is meant, or without --cluster",
        "  code  no-such-job (exit 3)",
    ]
    assert len(await scene.llama.entries()) == before


async def test_of_several_jobs_those_elsewhere_are_named_and_none_is_cancelled() -> None:
    scene = await two_clusters()
    with pytest.raises(CliError, match="llama is not on hpc9"):
        await cancel._cancel(scene.stage(OTHER, YES), cancel.CancelOptions(jobs=("bert", "llama")))
    assert await scene.cancelled() == []
    assert await cancel._cancel(scene.stage(None, YES), cancel.CancelOptions(jobs=("bert", "llama"))) is Exit.DONE
    assert await scene.cancelled() == ["llama", "bert"]


async def test_a_cluster_of_the_context_narrows_nothing() -> None:
    scene = await two_clusters()
    stage = scene.stage(None, YES)
    assert stage.settings.cluster.value == CLUSTER
    assert await cancel._cancel(stage, cancel.CancelOptions(jobs=("bert",))) is Exit.DONE
    assert stage.hinted.startswith("prod · nlp @ hpc9     cancel bert ")


# a person's word on a node


async def test_a_word_on_a_node_that_several_clusters_have_is_refused_until_one_is_named() -> None:
    scene = await two_clusters()
    with pytest.raises(CliError) as caught:
        await attest._attest(scene.stage(None, WORD), OFF)
    assert caught.value.lines() == [
        "error: 'n1' is waited for on 2 clusters, and each has a node of its own by that name",
        "  why   bert is on hpc9, llama on sim",
        "  do    the same with --cluster hpc9 or --cluster sim",
        "  code  bad-usage (exit 2)",
    ]
    assert await scene.attested() == []


@pytest.mark.parametrize(("cluster", "job"), [(OTHER, "bert"), (CLUSTER, "llama")])
async def test_a_word_on_a_node_is_kept_for_the_jobs_of_the_cluster_that_was_typed(cluster: str, job: str) -> None:
    scene = await two_clusters()
    assert await attest._attest(scene.stage(cluster, WORD), OFF) is Exit.DONE
    assert await scene.attested() == [job]


async def test_a_word_on_a_node_of_a_cluster_where_nothing_waits_for_it_is_exit_3() -> None:
    scene = await two_clusters()
    with pytest.raises(CliError, match="nothing waits for node 'n1' of hpc7") as caught:
        await attest._attest(scene.stage("hpc7", WORD), OFF)
    assert caught.value.exit_code is Exit.NOT_FOUND


async def test_the_question_about_a_node_names_the_cluster_of_the_jobs_and_not_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    scene = await two_clusters()
    for cluster, options in ((None, replace(OFF, every=False, job="bert")), (OTHER, OFF)):
        with pytest.raises(CliError) as caught:
            await attest._attest(scene.stage(cluster, YES), options)
        assert caught.value.why[0] == "prod · nlp @ hpc9     attest that n1 is off, for bert?"


# a new job


async def test_a_job_file_that_names_another_cluster_than_the_one_typed_is_told_with_its_line() -> None:
    stage = Stage(Driver(), GlobalFlags(timeout=0.5, cluster=OTHER))
    file = str(EXAMPLES / "local.yaml")
    with pytest.raises(JobFileError) as caught:
        await submit._submit(stage, submit.SubmitOptions(file=file, name="llama"))
    (mistake,) = caught.value.mistakes
    assert (mistake.path, mistake.line) == ("cluster", 2)
    assert mistake.what == "local, and --cluster says hpc9"
    assert mistake.fix == "leave --cluster out, or --set cluster=hpc9"
    assert await stage.driver.entries() == ()
    (finding,) = await examine_job(stage, file)
    assert (finding.level, finding.what) == ("FAIL", f"{file} line 2: cluster: local, and --cluster says hpc9")


async def test_another_jobs_spec_goes_to_another_cluster_by_a_setting_and_never_by_silence() -> None:
    scene = await two_clusters()
    again = submit.SubmitOptions(of="llama", name="again", settings=("labels={}",))
    with pytest.raises(JobFileError, match="sim, and --cluster says hpc9"):
        await submit._submit(scene.stage(OTHER), again)
    stage = scene.stage(OTHER)
    moved = replace(again, settings=("cluster=hpc9",))
    await submit._submit(stage, moved)
    assert stage.hinted.startswith("prod · nlp @ hpc9     submit again (command ")


async def test_a_job_file_without_a_cluster_is_for_the_one_that_was_typed(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("version: 1\nrun: {command: [sh, -c, sleep 60]}\n")
    scene = await two_clusters()
    stage = scene.stage(OTHER)
    await submit._submit(stage, submit.SubmitOptions(file=str(file), name="again"))
    assert stage.hinted.startswith("prod · nlp @ hpc9     submit again (command ")


# what judges, keeps and runs


async def test_all_histories_are_judged_of_the_cluster_that_was_typed() -> None:
    scene = await two_clusters()
    every = verify.VerifyOptions(every=True)
    for cluster, jobs in ((None, ["llama", "bert"]), (OTHER, ["bert"]), (CLUSTER, ["llama"])):
        stage = scene.stage(cluster, as_json=True)
        histories = verify._narrowed(stage, await verify._of_bus(stage, every))
        assert verify._judged(stage, histories) is Exit.DONE
        assert [each["job"] for each in json.loads(stage.said)["data"]["jobs"]] == jobs
    stage = scene.stage("hpc7")
    with pytest.raises(CliError, match="none of these jobs is on hpc7: nothing was judged"):
        verify._narrowed(stage, await verify._of_bus(stage, every))


@pytest.mark.parametrize(
    ("words", "do"),
    [
        (["export", "--all", "--output", "all.jsonl"], "name the jobs: dispatch list --cluster C --all"),
        (["supervise"], "--clusters hpc9"),
        (["up"], "the same without --cluster"),
    ],
)
def test_what_is_of_every_cluster_takes_none_and_does_nothing(
    words: list[str], do: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert run([*words, "--cluster", OTHER, "--nats", "nats://127.0.0.1:9", "--tenant", "nlp"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"error: (export --all|supervise|up) takes no --cluster", told[0])
    assert told[2] == f"  do    {do}"
    assert list(tmp_path.iterdir()) == []
