"""What changes a job: asked before what cannot be undone, sent once, told how far it got."""

from __future__ import annotations

import io
import json
import re
import shlex

import pytest

from dispatch.cli.commands import attest, cancel, dispose, hold, release, requeue, retries, submit
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.orders import Order, carry_out, chosen
from dispatch.cli.params import ChangeFlags, GlobalFlags
from projections.fleet import encode, entry_of
from projections.status import Around
from streams.messages.commands import HoldJob
from streams.messages.values import Phase
from tests.driver import Driver
from tests.unit.dispatch.cli.scenes import stuck, waiting_for_proof
from tests.unit.dispatch.cli.stage import EXAMPLES, Stage

YES = ChangeFlags(reason="wrong data mix", yes=True)
JSON = GlobalFlags(json=True, timeout=0.5)


async def running() -> Driver:
    driver = Driver()
    await driver.submit("sleep 100000", nodes=2)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    return driver


async def order_hold(stage: Stage, name: str = "llama", *, asks: bool = False) -> Exit:
    """A hold, as any order goes; with `asks` it asks before."""
    question = (lambda read, _: f"hold {read.job}?") if asks else None
    order = Order("hold", lambda _, fields: HoldJob(**fields), question)
    async with stage.session() as session:
        return await carry_out(session, await chosen(session, [name], []), order)


async def test_an_accepted_order_says_its_number_and_what_follows() -> None:
    stage = Stage(await running(), change=YES)
    assert await order_hold(stage) is Exit.DONE
    assert re.match(
        r"llama  accepted #10: held \(instance c-\w+\): 1\.0 runs on; the next run will wait$", stage.said.strip()
    )
    assert re.match(r"prod · nlp @ sim     hold llama \(command c-\w+\)$", stage.hinted.strip())


async def test_the_same_command_id_twice_is_one_command() -> None:
    driver = await running()
    again = ChangeFlags(reason="x", command_id="c-same")
    assert await order_hold(Stage(driver, change=again)) is Exit.DONE
    second = Stage(driver, change=again)
    assert await order_hold(second) is Exit.DONE
    await driver.read()
    assert len(driver.record.holds) == 1
    assert "accepted #10" in second.said


async def test_a_refusal_is_exit_4_in_the_form_of_every_error() -> None:
    driver = await running()
    await driver.cancel()
    stage = Stage(driver, change=YES)
    assert await order_hold(stage) is Exit.REFUSED
    lines = stage.hinted.splitlines()[1:]
    assert lines[0] == "error: llama: the job is cancelled, and that is final"
    assert lines[1].startswith("  do    ")
    assert lines[-1] == "  code  outcome-decided (exit 4)"
    assert stage.said == ""


async def test_a_refusal_is_an_error_document_with_json() -> None:
    driver = await running()
    await driver.cancel()
    stage = Stage(driver, JSON, YES)
    assert await order_hold(stage) is Exit.REFUSED
    document = json.loads(stage.said)
    assert document["schema"] == "dispatch.hold/1"
    assert (document["error"]["code"], document["error"]["exit"]) == ("outcome-decided", 4)
    assert document["error"]["receipt"]["answer"] == "refused"
    assert stage.hinted == ""


async def test_with_no_live_supervisor_it_is_stored_and_exit_7() -> None:
    stage = Stage(await running(), change=YES, supervised=False)
    assert await order_hold(stage) is Exit.UNDECIDED
    assert "stored; no supervisor is live: nothing is decided until one starts" in stage.said
    assert re.search(r"to repeat it: --command-id c-\w+$", stage.said.strip())


async def test_a_dry_run_shows_the_decision_and_sends_nothing() -> None:
    driver = await running()
    stage = Stage(driver, change=ChangeFlags(reason="x", dry_run=True))
    assert await order_hold(stage) is Exit.DONE
    assert stage.said == "llama  would be accepted at #9; nothing was sent\n"
    await driver.cancel()
    stage = Stage(driver, change=ChangeFlags(reason="x", dry_run=True))
    assert await order_hold(stage) is Exit.REFUSED
    assert "would be refused at #10" in stage.said
    assert await driver.bus.commands.waiting() == 0


async def test_a_reason_is_needed_and_has_its_bounds() -> None:
    driver = await running()
    for reason in ("", "x" * 501):
        with pytest.raises(CliError) as caught:
            await order_hold(Stage(driver, change=ChangeFlags(reason=reason, yes=True)))
        assert caught.value.exit_code is Exit.USAGE
    assert await driver.bus.commands.waiting() == 0


async def test_a_question_that_nobody_can_answer_is_exit_2_and_nothing_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = await running()
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(CliError) as caught:
        await order_hold(Stage(driver, change=ChangeFlags(reason="x")), asks=True)
    assert (caught.value.code, caught.value.exit_code) == ("no-answer", Exit.USAGE)
    assert await driver.bus.commands.waiting() == 0


@pytest.mark.parametrize("quiet", [False, True])
async def test_a_question_says_where_it_acts_also_with_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], quiet: bool
) -> None:
    driver = await running()
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    stage = Stage(driver, change=ChangeFlags(reason="x")).quiet(on=quiet)
    assert await order_hold(stage, asks=True) is Exit.DONE
    assert capsys.readouterr().err == "prod · nlp @ sim     hold llama? [y/N] "
    assert ("hold llama (command" in stage.hinted) is not quiet


async def test_a_question_about_several_jobs_names_them_also_with_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = await running()
    file = str(EXAMPLES / "local.yaml")
    await submit._submit(Stage(driver), submit.SubmitOptions(file=file, name="bert", settings=("cluster=sim",)))
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    with pytest.raises(CliError, match="not confirmed"):
        await cancel._cancel(
            Stage(driver, change=ChangeFlags(reason="x")).quiet(), cancel.CancelOptions(jobs=("llama", "bert"))
        )
    lines = capsys.readouterr().err.splitlines()
    assert (lines[0], lines[-1]) == ("prod · nlp @ sim", "cancel these 2 jobs? [y/N] ")
    assert [line.split(",")[0] for line in lines[1:-1]] == ["  llama", "  bert"]


async def test_stopping_the_retries_is_asked_with_where_it_acts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    stage = Stage(await running(), change=ChangeFlags(reason="x")).quiet()
    with pytest.raises(CliError, match="not confirmed"):
        await retries._set(stage, "sim", retries.Wanted(retries="off"))
    assert capsys.readouterr().err.startswith("prod · nlp @ sim     stop every retry on sim?")


async def test_what_would_have_to_be_typed_is_printed_so_that_it_can_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = await running()
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(CliError) as caught:
        await retries._set(
            Stage(driver, change=ChangeFlags(reason="x")).protected(), None, retries.Wanted(retries="off")
        )
    assert caught.value.do == ("the same with --confirm 'every cluster'",)
    typed = shlex.split(caught.value.do[0])[-1]
    again = Stage(driver, change=ChangeFlags(reason="x", confirm=typed)).protected()
    assert await retries._set(again, None, retries.Wanted(retries="off")) is Exit.DONE


class Terminal(io.StringIO):
    """A person at a terminal, who types what they were told to."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "code"), [("y\n", None), ("n\n", "not-confirmed"), ("\n", "not-confirmed")])
async def test_only_yes_is_yes(monkeypatch: pytest.MonkeyPatch, typed: str, code: str | None) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    stage = Stage(await running(), change=ChangeFlags(reason="x"))
    if code is None:
        assert await order_hold(stage, asks=True) is Exit.DONE
    else:
        with pytest.raises(CliError, match="nothing was sent"):
            await order_hold(stage, asks=True)


@pytest.mark.parametrize(
    ("flags", "typed", "done"),
    [
        (ChangeFlags(reason="x", confirm="llama"), "", True),
        (ChangeFlags(reason="x", confirm="lama"), "", False),
        (ChangeFlags(reason="x", yes=True), "", False),
        (ChangeFlags(reason="x"), "llama\n", True),
        (ChangeFlags(reason="x"), "yes\n", False),
    ],
)
async def test_a_protected_context_wants_the_name_typed(
    monkeypatch: pytest.MonkeyPatch, flags: ChangeFlags, typed: str, done: bool
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed) if typed else io.StringIO(""))
    stage = Stage(await running(), change=flags).protected()
    if done:
        assert await order_hold(stage, asks=True) is Exit.DONE
    else:
        with pytest.raises(CliError, match="nothing was sent"):
            await order_hold(stage, asks=True)


async def test_what_changes_a_job_wants_its_whole_name() -> None:
    driver = await running()
    await driver.bus.buckets.put_status("nlp.llama", b"{}", expected=None)
    with pytest.raises(CliError) as caught:
        await order_hold(Stage(driver, change=YES), "lla")
    assert (caught.value.code, caught.value.exit_code) == ("no-such-job", Exit.NOT_FOUND)
    assert "llama" in caught.value.why[0]


# the verbs


async def test_a_cancel_waits_for_its_stage_and_tells_each() -> None:
    driver = await running()
    stage = Stage(driver, GlobalFlags(), YES)
    options = cancel.CancelOptions(jobs=("llama",), wait=None)
    assert await cancel._cancel(stage, options) is Exit.DONE
    await driver.settle()
    waiting = Stage(driver, GlobalFlags(), YES)
    assert await cancel._cancel(waiting, cancel.CancelOptions(jobs=("llama",), wait="proven")) is Exit.DONE
    told = [line.split()[0] for line in waiting.said.splitlines() if line.startswith("  ")]
    assert told == ["asked", "committed", "stopped", "complete", "settled"]
    assert waiting.said.strip().endswith(f"cancelled, settled #{driver.record.settled_number}")


async def test_a_wait_that_takes_too_long_is_exit_8_and_the_cancel_stands() -> None:
    driver = await running()
    stage = Stage(driver, GlobalFlags(timeout=0.3), YES)
    assert await cancel._cancel(stage, cancel.CancelOptions(jobs=("llama",), wait="stopped")) is Exit.TIMED_OUT
    assert "the cancel of llama stands" in stage.hinted
    await driver.read()
    assert driver.record.cancel is not None


async def test_a_cancel_that_is_waited_for_is_one_document_with_json_also_when_the_wait_was_too_short() -> None:
    driver = await running()
    early = Stage(driver, GlobalFlags(json=True, timeout=0.3), YES)
    assert await cancel._cancel(early, cancel.CancelOptions(jobs=("llama",), wait="proven")) is Exit.TIMED_OUT
    error = json.loads(early.said)["error"]
    assert (error["code"], error["exit"], error["job"]) == ("timed-out", 8, "llama")
    await driver.settle()
    late = Stage(driver, JSON, YES)
    assert await cancel._cancel(late, cancel.CancelOptions(jobs=("llama",), wait="proven")) is Exit.DONE
    assert json.loads(late.said)["data"]["state"] == "cancelled"


async def test_a_name_never_seen_is_exit_3_and_can_be_recorded_as_cancelled() -> None:
    driver = Driver(job="ghost")
    stage = Stage(driver, change=YES)
    with pytest.raises(CliError) as caught:
        await cancel._cancel(stage, cancel.CancelOptions(jobs=("ghost",)))
    assert caught.value.exit_code is Exit.NOT_FOUND
    recorded = cancel.CancelOptions(jobs=("ghost",), if_unknown="record")
    assert await cancel._cancel(stage, recorded) is Exit.DONE
    late = Stage(driver)
    options = submit.SubmitOptions(file=str(EXAMPLES / "local.yaml"), name="ghost", settings=("cluster=sim",))
    assert await submit._submit(late, options) is Exit.REFUSED
    assert "job-cancelled (exit 4)" in late.hinted


async def test_a_label_is_not_dropped_beside_a_name_never_seen() -> None:
    driver = Driver(job="ghost")
    both = cancel.CancelOptions(jobs=("ghost",), labels=("project=x",), if_unknown="record")
    with pytest.raises(CliError, match="one of JOB… and -l K=V is needed"):
        await cancel._cancel(Stage(driver, change=YES), both)
    assert await driver.bus.commands.waiting() == 0


async def test_a_hold_is_lifted_by_release_and_a_second_release_is_refused() -> None:
    driver = await running()
    assert await hold._hold(Stage(driver, change=YES), hold.HoldOptions(jobs=("llama",))) is Exit.DONE
    await driver.quiet()
    lifted = Stage(driver)
    assert await release._release(lifted, release.ReleaseOptions(jobs=("llama",))) is Exit.DONE
    assert "released; no hold asked through dispatch is left" in lifted.said
    refused = Stage(driver)
    assert await release._release(refused, release.ReleaseOptions(jobs=("llama",))) is Exit.REFUSED
    assert "nothing-to-lift (exit 4)" in refused.hinted


async def test_a_requeue_of_something_running_is_asked_about_and_names_the_run() -> None:
    driver = await running()
    options = requeue.RequeueOptions(jobs=("llama",))
    with pytest.raises(CliError, match="this asks a question"):
        await requeue._requeue(Stage(driver, change=ChangeFlags(reason="x")), options)
    stage = Stage(driver, change=YES)
    assert await requeue._requeue(stage, options) is Exit.DONE
    assert re.search(r"accepted #10: the next run of \S+ waits for the end of 1\.0", stage.said)


async def test_orders_may_go_to_all_open_jobs_with_a_label() -> None:
    driver = Driver()
    await driver.submit("sleep 100000", labels={"project": "x"})
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    entry = entry_of(driver.record, Around(now=driver.at))
    await driver.bus.buckets.put_status(entry.key, encode(entry), expected=None)
    found = Stage(driver, change=YES)
    assert await hold._hold(found, hold.HoldOptions(labels=("project=x",))) is Exit.DONE
    with pytest.raises(CliError, match="no open job has project=y"):
        await hold._hold(Stage(driver, change=YES), hold.HoldOptions(labels=("project=y",)))
    with pytest.raises(CliError, match="one of JOB"):
        await hold._hold(Stage(driver, change=YES), hold.HoldOptions(jobs=("llama",), labels=("project=x",)))


async def test_a_person_disposes_of_an_attempt_that_was_never_found() -> None:
    stage = Stage(await stuck(), change=YES)
    options = dispose.DisposeOptions(job="llama", disposition="gone", attempt="1/2")
    assert await dispose._dispose(stage, options) is Exit.DONE
    assert "your decision is recorded" in stage.said


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"attempt": "1-2"}, "bad-usage"),
        ({"message": "48219"}, "bad-usage"),
        ({"object": "99"}, "no-such-object"),
    ],
)
async def test_a_target_that_is_none_is_told_as_such(options: dict[str, str], code: str) -> None:
    stage = Stage(await running(), change=YES)
    with pytest.raises(CliError) as caught:
        await dispose._dispose(stage, dispose.DisposeOptions(job="llama", disposition="gone", **options))
    assert caught.value.code == code


async def test_a_word_on_a_node_is_given_by_typing_its_name_and_kept_with_the_persons() -> None:
    driver = await waiting_for_proof()
    options = attest.AttestOptions(node="n1", job="llama", state="off")
    with pytest.raises(CliError, match="the name has to be typed"):
        await attest._attest(Stage(driver, change=YES), options)
    typed = ChangeFlags(reason="pulled the plug", confirm="n1")
    assert await attest._attest(Stage(driver, change=typed), options) is Exit.DONE
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    with pytest.raises(CliError, match="nothing waits for node 'n1'"):
        await attest._attest(Stage(driver, change=typed), options)


async def test_the_kill_switch_is_set_shown_and_lifted() -> None:
    driver = await running()
    stop = Stage(driver, change=YES)
    assert await retries._set(stop, "sim", retries.Wanted(retries="off")) is Exit.DONE
    shown = Stage(driver)
    await retries._show(shown, None)
    assert re.match(r'retries stopped on sim since \S+ by ana #1 "wrong data mix", 0 retries wait · ', shown.said)
    again = Stage(driver, change=YES)
    assert await retries._set(again, "sim", retries.Wanted(retries="off")) is Exit.REFUSED
    allow = Stage(driver, change=YES)
    assert await retries._set(allow, "sim", retries.Wanted(retries="on", brake="clear")) is Exit.DONE
    after = Stage(driver)
    await retries._show(after, None)
    assert after.said == "sim: retries are on\n"
