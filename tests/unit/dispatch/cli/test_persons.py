"""What a person is asked, and what only a person may decide: foreign objects, unreadable messages, the brake."""

from __future__ import annotations

import io
import re
from datetime import timedelta

import pytest

from dispatch.cli.commands import attest, cancel, dispose, hold, listing, release, requeue, retries, status, why
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.following import Goal, follow
from dispatch.cli.params import ChangeFlags, GlobalFlags
from projections.fleet import encode, entry_of
from projections.status import Around
from streams.errors import UndecidedError
from streams.messages.commands import HoldJob
from streams.messages.events import ControlsSet, Envelope
from streams.messages.reasons import Reason
from streams.messages.values import Phase
from streams.subjects import CONTROLS
from tests.driver import CLUSTER, Driver
from tests.unit.dispatch.cli.scenes import foreign, held, node_lost, running, stuck, unreadable
from tests.unit.dispatch.cli.stage import Stage

YES = ChangeFlags(reason="not ours", yes=True)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def shelve(driver: Driver) -> None:
    """The driver's job in the status bucket, as a replica writes it."""
    entry = entry_of(driver.record, Around(now=driver.at, controls=driver.controls))
    await driver.bus.buckets.put_status(entry.key, encode(entry), expected=None)


# the question


async def test_a_cancel_asks_once_with_name_age_and_nodes_and_where(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    stage = Stage(await running(), change=ChangeFlags(reason="wrong data mix"))
    assert await cancel._cancel(stage, cancel.CancelOptions(jobs=("llama",))) is Exit.DONE
    asked = capsys.readouterr()
    assert asked.err == "prod · nlp @ sim     cancel llama, running 1h on 2 nodes? A cancel is final. [y/N] "
    assert "final" not in asked.out
    assert re.match(r"prod · nlp @ sim     cancel llama \(command c-\w+\)$", stage.hinted.strip())


async def test_a_requeue_and_a_disposal_ask_and_a_hold_and_a_release_never_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    flags = ChangeFlags(reason="x")
    driver = await running()
    with pytest.raises(CliError, match="nobody is there to answer; nothing was sent"):
        await requeue._requeue(Stage(driver, change=flags), requeue.RequeueOptions(jobs=("llama",)))
    options = dispose.DisposeOptions(job="llama", object="1", disposition="stop")
    with pytest.raises(CliError, match="nobody is there to answer; nothing was sent"):
        await dispose._dispose(Stage(driver, change=flags), options)
    assert await hold._hold(Stage(driver, change=flags), hold.HoldOptions(jobs=("llama",))) is Exit.DONE
    assert await release._release(Stage(driver, change=flags), release.ReleaseOptions(jobs=("llama",))) is Exit.DONE


async def test_several_jobs_are_listed_asked_about_once_and_answered_one_by_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    driver = await running()
    other = Driver(job="bert")
    other.bus, other.hands = driver.bus, driver.hands
    await other.submit("sleep 100000")
    stage = Stage(driver, change=ChangeFlags(reason="x"))
    assert await cancel._cancel(stage, cancel.CancelOptions(jobs=("llama", "bert"))) is Exit.DONE
    where, *listed, question = capsys.readouterr().err.splitlines()
    assert (where, question) == ("prod · nlp @ sim", "cancel these 2 jobs? [y/N] ")
    assert [line.split(",")[0] for line in listed] == ["  llama", "  bert"]
    assert [line.split()[:2] for line in stage.said.splitlines()] == [["llama", "accepted"], ["bert", "accepted"]]


# what dispatch may not decide alone


async def test_an_object_of_nobodys_is_stopped_by_a_persons_decision() -> None:
    driver = await foreign()
    stage = Stage(driver, change=YES)
    options = dispose.DisposeOptions(job="llama", object="2", disposition="stop")
    assert await dispose._dispose(stage, options) is Exit.DONE
    assert re.match(
        r"llama  accepted #\d+: your decision is recorded; the next pass carries it out$", stage.said.strip()
    )
    await driver.until(lambda d: d.slurm.jobs[1].phase is Phase.ENDED)
    assert driver.slurm.jobs[0].phase is Phase.RUNNING


async def test_a_message_that_nobody_can_read_is_disposed_of_and_decisions_go_on() -> None:
    driver = await unreadable()
    refused = Stage(driver, change=YES)
    assert await hold._hold(refused, hold.HoldOptions(jobs=("llama",))) is Exit.REFUSED
    assert "decisions-stopped (exit 4)" in refused.hinted
    stage = Stage(driver, change=YES)
    options = dispose.DisposeOptions(job="llama", message="r10", disposition="ignore")
    assert await dispose._dispose(stage, options) is Exit.DONE
    assert await hold._hold(Stage(driver, change=YES), hold.HoldOptions(jobs=("llama",))) is Exit.DONE


async def test_an_attempt_is_disposed_of_with_the_last_look_at_it_shown_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    stage = Stage(await stuck(), change=ChangeFlags(reason="x"))
    with pytest.raises(CliError, match="not confirmed"):
        await dispose._dispose(stage, dispose.DisposeOptions(job="llama", attempt="1/2", disposition="gone"))
    assert re.match(r"prod · nlp @ sim     the last Find, \S+ ago, shows nothing\n", capsys.readouterr().err)


async def test_a_release_says_which_holds_are_left() -> None:
    driver = await held()
    await driver.order(hold_of(driver, "c-bo"), actor="bo")
    stage = Stage(driver, change=YES)
    options = release.ReleaseOptions(jobs=("llama",), instances=("c-bo",))
    assert await release._release(stage, options) is Exit.DONE
    assert "c-submit" in stage.said


def hold_of(driver: Driver, instance: str) -> HoldJob:
    return HoldJob(**driver.order_fields(instance), note="debugging")


# the brake


async def brake(driver: Driver) -> None:
    """What a replica appends when many jobs end at once."""
    event = ControlsSet(
        cluster=CLUSTER, brake_until_at=driver.at + timedelta(minutes=15), brake_cause="31 jobs ended within 4s"
    )
    envelope = Envelope(
        id="0" * 26,
        tenant="nlp",
        job=CONTROLS,
        expected=0,
        at=driver.at,
        by="replica:sv-b",
        event=event,
        reason=Reason.BRAKE_TRIPPED,
    )
    await driver.bus.history.append(envelope)


async def test_the_brake_is_shown_with_its_cause_its_end_and_the_line_that_lifts_it() -> None:
    driver = await running()
    await brake(driver)
    shown = Stage(driver)
    await retries._show(shown, None)
    assert re.match(
        r"brake on sim since \S+ by sv-b #1 until \S+: 31 jobs ended within 4s, 0 retries wait"
        r' · dispatch retries allow --cluster sim --reason "…"$',
        shown.said.strip(),
    )
    lifted = Stage(driver, change=YES)
    assert await retries._set(lifted, "sim", retries.Wanted(retries="on", brake="clear")) is Exit.DONE
    after = Stage(driver)
    await retries._show(after, None)
    assert after.said == "sim: retries are on\n"


async def test_observe_mode_is_set_shown_and_ended() -> None:
    driver = await running()
    assert await retries._set(Stage(driver, change=YES), "sim", retries.Wanted(observe=True)) is Exit.DONE
    shown = Stage(driver)
    await retries._show(shown, None)
    assert re.match(r'observing on sim since \S+ by ana #1 "not ours", 0 retries wait · dispatch retries', shown.said)
    assert await retries._set(Stage(driver, change=YES), "sim", retries.Wanted(observe=False)) is Exit.DONE


# at three in the morning


async def test_does_anything_need_me() -> None:
    driver = await stuck()
    await shelve(driver)
    stage = Stage(driver)
    await listing._listing(stage, listing.ListOptions(needs_person=True))
    header, _, row = stage.said.splitlines()
    assert "1 needs a person" in header
    assert re.match(r"!  llama +launching +\S+ +attempts 1/1-1/3 ", row)


async def test_a_node_is_dead_for_good_and_somebody_says_so() -> None:
    driver = await node_lost()
    before = Stage(driver)
    await why._why(before, why.WhyOptions(job="llama"))
    assert "someone attests that n1 is off" in before.said
    stage = Stage(driver, change=ChangeFlags(reason="pulled the plug", confirm="n1"))
    assert await attest._attest(stage, attest.AttestOptions(node="n1", job="llama", state="off")) is Exit.DONE
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    shown = Stage(driver)
    await status._one(shown, status.StatusOptions(job="llama"), "llama")
    assert re.search(r"^1\.0 .+ gone; attested by ana on n1$", shown.said, re.MULTILINE)


async def test_a_wait_until_action_needs_no_person_while_everything_goes_on() -> None:
    driver = await running()
    stage = Stage(driver, GlobalFlags(timeout=0.3))
    async with stage.session() as session:
        assert await follow(session, "llama", Goal("action")) == Exit.TIMED_OUT
    assert "llama goes on" in stage.hinted


async def test_what_was_sent_and_never_acknowledged_is_undecided_exit_7_with_the_line_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = await running()

    async def unanswered(*_: object, **__: object) -> int:
        raise UndecidedError("dispatch.command.nlp.ana.hold.llama", "c-1")

    monkeypatch.setattr(driver.bus.commands, "publish", unanswered)
    stage = Stage(driver, change=YES)
    assert await hold._hold(stage, hold.HoldOptions(jobs=("llama",))) is Exit.UNDECIDED
    assert re.match(
        r"llama  undecided: sent, no answer from the bus; it may take effect\n"
        r"  repeat it with --command-id c-\w+: twice is one command$",
        stage.said.strip(),
    )
