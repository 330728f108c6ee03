"""A receipt is told from the record alone, the same however often, and says in one sentence what to do."""

from __future__ import annotations

from adapters.simulated.slurm_mishaps import SlurmMishaps, SlurmPeople
from dispatch.decide import Already
from projections.receipt import Addressed, Written, already, malformed, progress_of, receipt, receipts_of, refused
from streams.messages.commands import AttestNodeOff, Dispose, HoldJob, ReleaseJob, RequeueJob, SetControls
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.reasons import RefusalCode
from streams.messages.receipts import Answer, Progress, Receipt
from streams.messages.values import Disposition, NodeAttested, Phase
from tests.driver import Driver

AGAIN = RecoveryPlan(
    rules=(PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=3, backoff=Backoff(first=0)),)
)


def of(driver: Driver, command: str) -> Receipt:
    told = receipt(driver.record, command, written(driver))
    assert told is not None
    return told


def written(driver: Driver) -> Written:
    return Written(driver.at, "replica:sv-a")


async def test_a_command_the_record_does_not_hold_has_no_receipt_yet() -> None:
    driver = Driver()
    assert receipt(driver.record, "c-submit", written(driver)) is None


async def test_a_submit_is_accepted_with_the_number_of_its_event_for_ever() -> None:
    driver = Driver()
    await driver.submit("sleep 30; exit 0")
    first = of(driver, "c-submit")
    assert (first.answer, first.verb, first.number, first.revision) == (Answer.ACCEPTED, "submit", 1, 1)
    assert first.progress is None
    await driver.settle()
    assert of(driver, "c-submit").number == 1


async def test_a_cancel_goes_from_committed_over_stopped_to_complete_under_one_receipt() -> None:
    driver = Driver()
    await driver.submit(nodes=2)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.cancel()
    stages: list[tuple[Progress | None, str]] = []
    for _ in range(20):
        told = of(driver, "c-cancel")
        if not stages or stages[-1][0] is not told.progress:
            stages.append((told.progress, told.sentence))
        await driver.look()
        await driver.pass_time(5)
    assert stages == [
        (Progress.COMMITTED, "nothing of it is authorized any more; being stopped: 1"),
        (Progress.STOPPED, "all that was seen has ended; what can still land is waited for, then stopped once more"),
        (Progress.COMPLETE, "nothing of it can land any more; its processes are proven gone on 2 of 2 nodes"),
    ]
    [last] = receipts_of(driver.published[-1], written(driver))
    assert last.progress is Progress.COMPLETE


async def test_a_complete_cancel_names_the_nodes_that_are_not_proven() -> None:
    driver = Driver()
    await driver.submit(nodes=2)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    SlurmMishaps(driver.slurm).lose_node("n2")
    await driver.cancel()
    await driver.until(lambda d: progress_of(d.record) is Progress.COMPLETE)
    assert of(driver, "c-cancel").sentence.endswith("proven gone on 1 of 2 nodes, not on n2")


async def test_a_cancel_of_a_name_never_seen_is_complete_when_it_is_settled() -> None:
    driver = Driver()
    await driver.cancel_unknown()
    assert of(driver, "c-cancel").sentence == (
        "nothing of it is authorized any more; no object of it is known to be alive"
    )


async def test_only_a_cancel_is_written_again_by_passes() -> None:
    driver = Driver()
    await driver.submit()
    assert receipts_of(driver.record, written(driver)) == ()
    await driver.cancel()
    assert [r.command for r in receipts_of(driver.record, written(driver))] == ["c-cancel"]


async def test_a_second_cancel_under_another_id_is_answered_already_with_the_progress_of_the_first() -> None:
    driver = Driver()
    await driver.submit()
    await driver.cancel()
    answered = await driver.cancel(command="c-again")
    assert isinstance(answered, Already)
    told = already(driver.record, answered.revision, Addressed("c-again", "nlp", "llama", "cancel"), written(driver))
    assert (told.answer, told.command, told.number, told.progress) == (
        Answer.ALREADY,
        "c-again",
        2,
        Progress.COMMITTED,
    )
    assert told.sentence.startswith("already asked, and accepted as #2: ")


async def test_the_same_command_twice_has_the_first_receipt_again() -> None:
    driver = Driver()
    await driver.submit()
    answered = await driver.submit()
    assert isinstance(answered, Already)
    to = Addressed("c-submit", "nlp", "llama", "submit")
    assert already(driver.record, answered.revision, to, written(driver)) == of(driver, "c-submit")


async def test_what_was_accepted_before_commands_had_ids_is_told_by_its_revision() -> None:
    driver = Driver()
    await driver.submit()
    told = already(driver.record, 99, Addressed("c-x", "nlp", "llama", "submit"), written(driver))
    assert (told.answer, told.revision, told.sentence) == (Answer.ALREADY, 99, "already accepted as r99")


async def test_a_hold_says_whether_a_run_goes_on() -> None:
    driver = Driver()
    await driver.submit()
    await driver.order(HoldJob(**driver.order_fields("c-first")))
    assert of(driver, "c-first").sentence == "held (instance c-first): no run starts until it is released"
    await driver.order(ReleaseJob(**driver.order_fields("c-release")))
    assert of(driver, "c-first").sentence == "held, and released since"
    assert of(driver, "c-release").sentence == "released; no hold asked through dispatch is left"
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.order(HoldJob(**driver.order_fields("c-second")))
    assert of(driver, "c-second").sentence == "held (instance c-second): 1.0 runs on; the next run will wait"
    await driver.order(HoldJob(**driver.order_fields("c-third"), now=True))
    assert of(driver, "c-third").sentence == "held (instance c-third): 1.0 is being ended; the next run will wait"
    await driver.order(ReleaseJob(**driver.order_fields("c-one"), instances=("c-third",)))
    assert of(driver, "c-one").sentence == "released; still held by c-second"


async def test_a_requeue_says_what_the_next_run_waits_for() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.order(RequeueJob(**driver.order_fields("c-again"), run=0))
    assert of(driver, "c-again").sentence == "the next run of 1 waits for the end of 1.0"
    await driver.order(RequeueJob(**driver.order_fields("c-new"), run=0, resubmit=True))
    told = of(driver, "c-new")
    assert (told.verb, told.sentence) == (
        "requeue",
        "submission 2 is authorized; it runs once all before it is proven dead",
    )


async def test_a_persons_word_for_a_node_and_about_an_object_is_receipted() -> None:
    driver = Driver()
    await driver.submit(nodes=2, plan=AGAIN)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    ref = driver.ref
    SlurmMishaps(driver.slurm).lose_node("n1")
    await driver.until(lambda d: len(d.record.submissions) == 2)
    await driver.order(
        AttestNodeOff(**driver.order_fields("c-off"), node="n1", state=NodeAttested.OFF, object=ref, run=0)
    )
    assert of(driver, "c-off").verb == "attest"
    assert of(driver, "c-off").number == driver.record.number


async def test_a_decision_about_a_foreign_object_is_receipted() -> None:
    driver = Driver()
    await driver.submit()
    job = SlurmPeople(driver.slurm).submit(driver.name)
    await driver.quiet()
    await driver.order(Dispose(**driver.order_fields("c-stop"), target=job.ref, disposition=Disposition.STOP))
    told = of(driver, "c-stop")
    assert (told.verb, told.sentence) == ("dispose", "your decision is recorded; the next pass carries it out")


async def test_controls_are_receipted_from_their_own_history() -> None:
    driver = Driver(job="_controls")
    await driver.order(SetControls(**driver.order_fields("c-observe"), observe=True))
    told = of(driver, "c-observe")
    assert (told.verb, told.answer, told.number) == ("control", Answer.ACCEPTED, 1)


async def test_a_refusal_carries_its_code_its_sentence_and_the_event_in_the_way() -> None:
    driver = Driver()
    to = Addressed("c-hold", "nlp", "llama", "hold")
    told = refused(
        to, RefusalCode.OUTCOME_DECIDED, "the job is cancelled, and that is final", written(driver), revision=7
    )
    assert (told.answer, told.code, told.revision, told.number) == (
        Answer.REFUSED,
        RefusalCode.OUTCOME_DECIDED,
        7,
        None,
    )
    broken = malformed(
        Addressed("seq-19", "nlp", "llama", "hold"), RefusalCode.MALFORMED, "no such verb", written(driver)
    )
    assert (broken.answer, broken.command) == (Answer.MALFORMED, "seq-19")
