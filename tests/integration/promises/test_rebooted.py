"""The machine rebooted with jobs running: ended, proven gone by the new boot id, recovered by the plan (L4)."""

from __future__ import annotations

import json

from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.values import CauseKind, Outcome
from tests.integration.promises.ground import Ground, running

AFTER_A_LOST_NODE = RecoveryPlan(
    rules=(PlanRule(name="lost", on=("node-lost",), do=PlanAction.RESUBMIT, budget=1, backoff=Backoff(first=0.0)),)
)


async def test_a_job_that_ran_when_the_machine_rebooted_is_proven_gone_and_recovered_by_its_plan(here: Ground) -> None:
    boot = here.directory / "boot_id"
    boot.write_text("11111111-1111-1111-1111-111111111111\n")
    adapter = here.adapter()
    settings = adapter.state_dir / "settings.json"
    told = json.loads(settings.read_text())
    settings.write_text(json.dumps({**told, "boot_id_path": str(boot)}))
    async with here.replica("sv-a", adapter):
        body = 'if [ "$DISPATCH_SUBMISSION" = 1 ]; then sleep 600 & wait $!; fi'
        await here.client.submit("llama", here.spec(body), AFTER_A_LOST_NODE)
        await here.until("llama", running)
    # The power goes: every process of the machine is gone at once, supervisors too, and the boot id is another.
    here.lose_power()
    boot.write_text("22222222-2222-2222-2222-222222222222\n")
    async with here.replica("sv-b", here.adapter()):
        record = await here.settled("llama")
    first = record.submissions[0].canonical
    assert first is not None
    run = record.objects[first].run_record(0)
    assert run is not None and run.proven and run.cause is not None
    assert run.cause.kind is CauseKind.NODE_LOST
    assert record.outcome is not None and record.outcome.outcome is Outcome.SUCCEEDED
    assert here.ran("llama", lost=True) == [1_000_000, 2_000_000]
    await here.holds("llama")
