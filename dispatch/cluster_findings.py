"""What is wrong with a cluster, and what to do: its agent, its clock, what it can do, how its CallBound came about."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from adapters import wire
from adapters.asking import AskingAdapter
from adapters.errors import AdapterError
from adapters.local.adapter import LocalAdapter
from dispatch import clocks, identity
from dispatch.findings import Finding, fail, ok, warn
from streams import subjects
from streams.errors import BusUnreachableError, NotPermittedError, StreamError
from streams.jetstream.connect import JetStreamBus
from streams.messages.calls import Capabilities, JobName, StartCall, StopCall
from streams.messages.spec import JobSpec, Run
from streams.messages.values import Floor, Tag

ASK_WITHIN_S = 10.0
PROBE_DEADLINE_S = 30.0
SET_BACK = "was a clock set back? a host's never goes back, it waits until it has caught up"
CALL_BOUND_FROM = {
    "local": "a constant: its host takes one request at a time and checks the deadline right before it acts",
    "gone": "nothing is left that a call could reach",
}
REPORTED = "as its agent reports it"


class PlainlyAsked(AskingAdapter):
    """An agent asked over our own wire, which tells a missing right and a missing agent from silence.

    Raises NotPermittedError, BusUnreachableError when no agent listens, StreamError when none answers.
    """

    def __init__(self, bus: JetStreamBus, cluster: str) -> None:
        self._bus = bus
        self._cluster = subjects.check_token(cluster, "cluster")

    async def ask(self, request: wire.Request) -> wire.Reply:
        """One request and its reply, within `ASK_WITHIN_S`."""
        subject = subjects.agent(self._cluster, wire.verb_of(request))
        message = await self._bus.wire.ask(subject, wire.encode(request), within_s=ASK_WITHIN_S)
        return wire.decode_reply(message.data)


async def of_agent(bus: JetStreamBus, cluster: str, *, named: bool) -> AsyncIterator[Finding]:
    """Every finding of a cluster that is reached over the bus; `named` by who asks, not only by a replica or context."""
    agent = PlainlyAsked(bus, cluster)
    try:
        able = await agent.capabilities()
    except NotPermittedError as error:
        yield warn(cluster, f"the credentials do not allow to ask its agent: {error}")
        return
    except BusUnreachableError:
        level = fail if named else warn
        do = f"next to its scheduler: dispatch agent local --cluster {cluster}"
        yield level(cluster, "no agent of it listens" + ("" if named else "; a replica may serve it by --local"), do)
        return
    except (StreamError, AdapterError, msgspec.DecodeError) as error:
        yield fail(cluster, f"its agent does not answer: {error}", "see the agent's log")
        return
    yield ok(cluster, f"{able.kind}, its agent {able.version or 'of a version that it does not tell'}")
    for each in of_capabilities(cluster, able):
        yield each
    name = JobName(installation=bus.layout.installation, tenant="doctor", job="doctor-probe")
    try:
        yield await _clock(cluster, agent, name)
    except NotPermittedError:
        yield ok(cluster, "its clock is shown to a supervisor's credentials: it comes with a Find")
    except (StreamError, AdapterError, msgspec.DecodeError) as error:
        yield fail(cluster, f"its scheduler does not answer: {error}", "see the agent's log")


def of_capabilities(cluster: str, able: Capabilities) -> Iterator[Finding]:
    """CallBound and how it came about; what the cluster can prove."""
    source, bound = CALL_BOUND_FROM.get(able.kind, REPORTED), able.call_bound_s
    yield ok(cluster, f"CallBound {bound:g}s, {source}")
    start, other = able.start_deadline_s, able.call_deadline_s
    yield ok(
        cluster,
        f"a call without a reply is over after its deadline + CallBound: a Start {start:g} + {bound:g} = "
        f"{start + bound:g}s, others {other:g} + {bound:g} = {other + bound:g}s",
    )
    proof = "yes" if able.cessation else "no"
    yield ok(cluster, f"proof that processes are gone: {proof} · calls fenced by run: {_yes(able.fenced_calls)}")
    if able.read_only:
        yield warn(cluster, "it is read only: nothing can be started or stopped on it")


def _yes(flag: bool) -> str:  # noqa: FBT001  a word for a fact
    return "yes" if flag else "no"


async def of_local(folder: Path, *, probe: bool) -> AsyncIterator[Finding]:
    """Every finding of the local cluster that a `dispatch up` keeps in `folder`."""
    try:
        adapter = LocalAdapter(folder)
        able = await adapter.capabilities()
    except (AdapterError, ValueError) as error:
        yield fail("local", str(error))
        return
    yield ok("local", f"{adapter.settings.slots} slots in {folder}")
    for each in (*of_capabilities("local", able), *_of_machine()):
        yield each
    name = JobName(installation="doctor", tenant="doctor", job=f"probe-{os.getpid()}")
    try:
        yield await _clock("local", adapter, name)
    except AdapterError as error:
        yield fail("local", f"its host does not answer: {error}", "dispatch up")
        return
    if probe:
        yield await _probed(adapter, name)


def _of_machine() -> Iterator[Finding]:
    """What the local cluster needs of Linux."""
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        yield ok("local", "cgroup v2 is there; out-of-memory is told by its event where a group can be made")
    else:
        yield warn("local", "no cgroup v2: out-of-memory is told only by the measured limit of a job's own")


async def _clock(cluster: str, adapter: AskingAdapter, name: JobName) -> Finding:
    """The clock that judges deadlines: that of the scheduler's host, as a Find brings it. Raises what `find` raises."""

    async def host() -> datetime:
        return (await adapter.find(name)).as_of

    return clocks.finding(cluster, "its host's", await clocks.asked(host), SET_BACK)


async def _probed(adapter: LocalAdapter, name: JobName) -> Finding:
    """One object made gated, found and stopped. Nothing of it runs."""
    nonce = identity.new_event_id()
    tag = Tag(
        installation=name.installation,
        tenant=name.tenant,
        job=name.job,
        submission=1,
        attempt=1,
        revision=1,
        nonce=nonce,
    )
    deadline_at = datetime.now(UTC) + timedelta(seconds=PROBE_DEADLINE_S)
    pair = Floor(revision=1, nonce=nonce)
    spec = JobSpec(cluster="local", run=Run(command=("true",)))
    try:
        ref = await adapter.start(StartCall(name=name, call=1, deadline_at=deadline_at, pair=pair, tag=tag, spec=spec))
        shown = await adapter.find(name)
        await adapter.stop(StopCall(name=name, call=2, deadline_at=deadline_at, pair=pair, object=ref))
    except (TimeoutError, AdapterError) as error:
        return fail("local", f"the probe failed: {error}")
    phases = [seen.phase.value for seen in shown.sightings if seen.object == ref]
    if phases != ["gated"]:
        return fail("local", f"the probe's object is {', '.join(phases) or 'not found'}, must be gated")
    return ok("local", f"probe: object {ref.id} made gated, found, stopped")
