"""Bad input on a real server: each has a clear receipt or error, nothing is lost, and no other job is affected."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError

from adapters.simulated.adapter import SlurmAdapter
from adapters.simulated.slurm import SlurmCluster, SlurmPace
from dispatch import identity
from dispatch.client import Accepted, AsyncClient, Refused, Said
from dispatch.replica.clusters import Clusters
from dispatch.replica.replica import Replica
from dispatch.replica.settings import ReplicaSettings
from projections.verify import verify
from streams import codec, subjects
from streams.errors import CodecError
from streams.jetstream.connect import JetStreamBus
from streams.jetstream.layout import WAKE
from streams.messages.calls import Capabilities
from streams.messages.commands import IfUnknown
from streams.messages.events import Quarantined, UnknownEvent
from streams.messages.reasons import RefusalCode
from streams.messages.receipts import Answer, Receipt
from streams.messages.spec import JobSpec, Run
from streams.messages.values import Disposition, MessageRef, Phase
from tests.conformance.streams_world import LAYOUT, JetStreamWorld, an_event, until

SUBMIT = "dispatch.command.nlp.ana.submit.llama"
SPEC: dict[str, Any] = {"cluster": "sim", "run": {"command": ["sleep", "1"]}}
MIB = 1024 * 1024


class Quick(SlurmAdapter):
    """Asked five times a second, so that a job is followed to its end while a test waits."""

    async def capabilities(self) -> Capabilities:
        return replace(await super().capabilities(), find_every_s=0.2)


class Stand:
    """A replica at work on a real server, a client, and an outsider who writes whatever they like."""

    def __init__(self, world: JetStreamWorld, bus: JetStreamBus, served: JetStreamBus) -> None:
        self.world = world
        self.bus = bus
        self.served = served
        self.client = AsyncClient(bus, tenant="nlp", actor="ana", timeout_s=20.0)

    async def receipt(self, command: str) -> Receipt:
        """The receipt of that command, once there is one."""
        found = await until(lambda: self.bus.buckets.get_receipt("nlp", command), lambda found: found is not None)
        assert found is not None
        return found

    async def runs_a_job(self, name: str) -> None:
        """Somebody else's job is submitted, runs and is settled, and its history keeps every law."""
        spec = JobSpec(cluster="sim", run=Run(command=("sleep", "0.2")))
        assert isinstance(await self.client.submit(name, spec), Accepted)
        await until(lambda: self.client.record(name), lambda record: record.settled)
        assert verify(await self.client.history(name)).broken == ()

    async def all_answered(self) -> None:
        """Nothing waits in a queue: what was bad has been acknowledged too."""
        await until(self.bus.commands.waiting, lambda waiting: waiting == 0)


@asynccontextmanager
async def standing(world: JetStreamWorld) -> AsyncIterator[Stand]:
    bus, served = await world.connect(), await world.connect()
    assert isinstance(bus, JetStreamBus)
    assert isinstance(served, JetStreamBus)
    cluster = SlurmCluster(
        name="sim", clock=lambda: datetime.now(UTC), pace=SlurmPace(queue_s=0.1, stop_s=0.1, row_s=0.1)
    )
    settings = ReplicaSettings(name="sv-a", installation=LAYOUT.installation, lease_s=LAYOUT.lease_s, heartbeat_s=0.5)
    replica = Replica(served, Clusters({"sim": Quick(cluster)}, None), settings)
    running = asyncio.create_task(replica.run())
    try:
        yield Stand(world, bus, served)
    finally:
        replica.stop()
        await running


@pytest.fixture
async def stand(world: JetStreamWorld) -> AsyncIterator[Stand]:
    async with standing(world) as stand:
        yield stand


def body(**fields: Any) -> bytes:
    """A submit as a service writes it, some fields exchanged."""
    whole = {"verb": "submit", "command": "c-bad", "tenant": "nlp", "job": "llama", "at": "2026-11-29T22:08:00Z"}
    return json.dumps({**whole, "spec": SPEC, **fields}).encode()


def spec(**fields: Any) -> bytes:
    return body(spec={**SPEC, **fields})


MALFORMED, DIFFERS, TOO_LARGE = RefusalCode.MALFORMED, RefusalCode.SUBJECT_DIFFERS, RefusalCode.TOO_LARGE
BAD: dict[str, tuple[str, bytes, RefusalCode, str]] = {
    "half a document": (SUBMIT, b'{"verb": "submit"', MALFORMED, "not a command"),
    "no text": (SUBMIT, b"\xff\x00\x80", MALFORMED, "not a command"),
    "nothing": (SUBMIT, b"", MALFORMED, "not a command"),
    "nested without end": (SUBMIT, b"[" * 200_000, MALFORMED, "not a command"),
    "numbers beyond any": (SUBMIT, body(spec={**SPEC, "nodes": 10**400}), MALFORMED, "not a command"),
    "a command without fields": (SUBMIT, b'{"verb": "submit"}', MALFORMED, "not a command"),
    "an unknown verb": (
        "dispatch.command.nlp.ana.transmute.llama",
        body(verb="transmute"),
        RefusalCode.UNKNOWN_VERB,
        "must be one of submit",
    ),
    "another tenant's job": (SUBMIT, body(tenant="vision"), DIFFERS, "the body says vision submit llama"),
    "another job": (SUBMIT, body(job="bert"), DIFFERS, "the body says nlp submit bert"),
    "another verb": ("dispatch.command.nlp.ana.cancel.llama", body(), DIFFERS, "the subject says nlp cancel llama"),
    "wildcards in an id": (SUBMIT, body(command="c.*"), MALFORMED, "not a command"),
    "dots in a name": (SUBMIT, body(job="llama.7b"), DIFFERS, "the body says nlp submit llama.7b"),
    "a wildcard for a name": (SUBMIT, body(job=">"), DIFFERS, "the body says nlp submit >"),
    "an id that names no command": (SUBMIT, body(command="seq-7"), MALFORMED, "may not be seq-"),
    "a name of ours in env": (SUBMIT, spec(env={"DISPATCH_JOB": "x"}), RefusalCode.INVALID_SPEC, "DISPATCH_"),
    "two ways to run": (
        SUBMIT,
        spec(run={"command": ["a"], "script": "b"}),
        RefusalCode.INVALID_SPEC,
        "exactly one of run.command and run.script",
    ),
    "almost a mebibyte": (SUBMIT, spec(env={"A": "x" * (MIB - 4096)}), TOO_LARGE, "the most is"),
    "a spec above its bound": (SUBMIT, spec(env={"A": "x" * 300_000}), TOO_LARGE, "read large input from a file"),
}


@pytest.mark.parametrize("what", BAD)
async def test_a_bad_command_has_a_receipt_that_says_why_and_no_other_job_is_affected(stand: Stand, what: str) -> None:
    subject, data, code, says = BAD[what]
    sequence = await stand.world.put_command_bytes(subject, data)
    name = "c-bad" if b'"c-bad"' in data and code not in {MALFORMED, TOO_LARGE} else f"seq-{sequence}"
    receipt = await _either(stand, name, f"seq-{sequence}", "c-bad")
    assert (receipt.answer, receipt.code) == (Answer.MALFORMED, code), receipt
    assert says in receipt.sentence
    assert len(receipt.sentence) < 500
    assert await stand.bus.history.read("nlp", "llama") == ()
    await stand.runs_a_job("bert")
    await stand.runs_a_job("llama")
    await stand.all_answered()


async def _either(stand: Stand, *names: str) -> Receipt:
    """The receipt under whichever of these ids it was written."""

    async def look() -> Receipt | None:
        found = [await stand.bus.buckets.get_receipt("nlp", name) for name in names]
        return next((receipt for receipt in found if receipt is not None), None)

    receipt = await until(look, lambda found: found is not None)
    assert receipt is not None
    return receipt


@pytest.mark.parametrize("token", ["*", ">", "a b", "", "Llama", "x" * 64, "_controls.x"])
async def test_a_subject_that_is_none_of_ours_is_refused_or_passed_over_and_stops_nobody(
    stand: Stand, token: str
) -> None:
    for place in (
        f"dispatch.command.nlp.ana.submit.{token}",
        f"dispatch.command.{token}.ana.submit.llama",
        f"dispatch.wake.nlp.{token}",
        f"dispatch.wake.{token}.llama",
    ):
        with suppress(NatsError):  # the client itself refuses some
            await stand.bus.wire.client.publish(place, body())
    await stand.runs_a_job("bert")
    await stand.all_answered()
    await until(lambda: waiting_in(stand, WAKE), lambda waiting: waiting == 0)
    assert await stand.bus.history.read("nlp", "llama") == ()


async def waiting_in(stand: Stand, stream: str) -> int:
    """How many messages the stream holds."""
    return int((await stand.bus.wire.api(f"STREAM.INFO.{stream}"))["state"]["messages"])


async def test_a_mebibyte_is_refused_before_it_is_sent_and_more_than_the_server_takes_never_arrives(
    stand: Stand,
) -> None:
    large = JobSpec(cluster="sim", run=Run(command=("a",)), env={"A": "x" * MIB})
    with pytest.raises(CodecError, match="the most is"):
        await stand.client.submit("llama", large)
    with pytest.raises(MaxPayloadError):
        await stand.bus.wire.client.publish(SUBMIT, b"x" * (2 * MIB))
    assert await stand.bus.commands.waiting() == 0
    await stand.runs_a_job("bert")


async def test_foreign_bytes_in_a_history_stop_that_job_alone_until_a_person_disposes_of_them(stand: Stand) -> None:
    endless = JobSpec(cluster="sim", run=Run(command=("sleep", "600")))
    assert isinstance(await stand.client.submit("llama", endless), Accepted)
    await until(lambda: stand.client.record("llama"), lambda record: any(
        held.phase is Phase.RUNNING for held in record.objects.values()
    ))  # fmt: skip
    revision = await stand.world.store_bytes(subjects.job("nlp", "llama"), b"\x00 not ours \xff")
    assert isinstance((await stand.client.history("llama"))[-1].content, Quarantined)
    refused = await stand.client.cancel("llama")
    assert isinstance(refused, Refused)
    assert refused.receipt.code is RefusalCode.DECISIONS_STOPPED
    assert f"r{revision}" in refused.receipt.sentence
    await stand.runs_a_job("bert")
    disposed = await stand.client.dispose("llama", MessageRef(revision=revision), Disposition.IGNORE)
    assert isinstance(disposed, Accepted)
    assert isinstance(await stand.client.cancel("llama", said=Said(command="c-again")), Accepted)
    await until(lambda: stand.client.record("llama"), lambda record: record.settled)
    kept = [entry for entry in await stand.client.history("llama") if entry.revision == revision]
    assert isinstance(kept[0].content, Quarantined), "what was disposed of is still there to be read"


async def test_an_event_of_a_newer_release_stops_that_job_alone(stand: Stand) -> None:
    assert isinstance(await stand.client.cancel("llama", if_unknown=IfUnknown.RECORD), Accepted)
    written = json.loads(_encoded("llama"))
    written["event"] = {"type": "JobTransmuted", "into": "gold"}
    await stand.world.store_bytes(subjects.job("nlp", "llama"), json.dumps(written).encode())
    last = (await stand.client.history("llama"))[-1].content
    assert isinstance(last, UnknownEvent)
    assert last.type == "JobTransmuted"
    refused = await stand.client.hold("llama")
    assert isinstance(refused, Refused)
    assert refused.receipt.code is RefusalCode.DECISIONS_STOPPED
    await stand.runs_a_job("bert")


def _encoded(job: str) -> bytes:
    return codec.encode_event(an_event(1, job=job))


async def test_a_supervisors_clock_that_is_set_back_a_day_and_put_right_again_loses_nothing(
    world: JetStreamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    off_by = timedelta(0)
    monkeypatch.setattr(identity, "now", lambda: datetime.now(UTC) + off_by)
    async with standing(world) as stand:
        endless = JobSpec(cluster="sim", run=Run(command=("sleep", "600")))
        assert isinstance(await stand.client.submit("llama", endless), Accepted)
        await until(lambda: stand.client.record("llama"), lambda record: any(
            held.phase is Phase.RUNNING for held in record.objects.values()
        ))  # fmt: skip
        off_by = timedelta(days=-1)
        await stand.runs_a_job("bert")
        assert isinstance(await stand.client.cancel("llama"), Accepted)
        record = await until(lambda: stand.client.record("llama"), lambda record: record.settled)
        assert record.cancel is not None
        off_by = timedelta(0)
        await stand.runs_a_job("moe")
        for name in ("llama", "bert", "moe"):
            history = await stand.client.history(name)
            assert verify(history).broken == ()
            assert [entry.revision for entry in history] == sorted(entry.revision for entry in history)


@pytest.mark.parametrize(
    "subject", [SUBMIT, "dispatch.command.nlp.bo.cancel.llama", "dispatch.command.nlp.bo.hold.bert"]
)
async def test_rubbish_under_the_id_of_a_command_that_was_taken_changes_nothing_of_its_receipt(
    stand: Stand, subject: str
) -> None:
    taken = await stand.client.submit(
        "llama", JobSpec(cluster="sim", run=Run(command=("sleep", "60"))), said=Said(command="c-1")
    )
    assert isinstance(taken, Accepted)
    sequence = int(json.loads((await stand.bus.wire.ask(subject, b'{"command": "c-1"}')).data)["seq"])
    assert (await stand.receipt(f"seq-{sequence}")).answer is Answer.MALFORMED
    assert await stand.receipt("c-1") == taken.receipt


async def test_a_wake_up_that_is_padded_to_fill_a_disk_is_not_stored(stand: Stand) -> None:
    padded = await stand.bus.wire.ask("dispatch.wake.nlp.llama", b"x" * 8192)
    assert json.loads(padded.data)["error"]["description"] == "message size exceeds maximum allowed"
    await stand.runs_a_job("bert")
