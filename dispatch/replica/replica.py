"""One replica from its first heartbeat to the end of its drain."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from typing import Any

import msgspec
import structlog

from dispatch import identity
from dispatch.act import Hands
from dispatch.replica import beat as beats
from dispatch.replica import commands, follower
from dispatch.replica.beat import Beat
from dispatch.replica.braking import Braking
from dispatch.replica.clusters import BoundedAdapter, Clusters
from dispatch.replica.measured import MeasuredHistory
from dispatch.replica.metrics import Metrics
from dispatch.replica.passes import Passes, Records, keep_hold
from dispatch.replica.settings import ReplicaSettings
from dispatch.replica.shards import rank_of
from dispatch.replica.sweep import Sweep, shard_guess
from dispatch.replica.telling import Teller
from dispatch.supervisor import Pass
from projections.controls import Controls
from projections.record import Record
from streams.errors import BusUnreachableError, NotPermittedError, StreamError, UndecidedError, WrongStreamError
from streams.messages.events import Entry
from streams.ports import Bus
from streams.subjects import CONTROLS, is_token

FAULT_RETRY = timedelta(seconds=60)

log = structlog.get_logger("dispatch.replica")


class Replica:
    """Any number of these share the work; each keeps only caches, and any may be killed at any await."""

    def __init__(self, bus: Bus, clusters: Clusters, settings: ReplicaSettings) -> None:
        self.settings = settings
        self.metrics = Metrics(settings.name)
        self.metrics.is_replica(settings.name, identity.version())
        clusters.tell(self.metrics.called)
        self.bus = bus
        self.clusters = clusters
        self.open_jobs = follower.OpenJobs()
        self.live: tuple[str, ...] = () if settings.observe else (settings.name,)
        self._others: dict[str, tuple[str, ...]] = {}
        self.fatal: StreamError | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._passes: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._room = asyncio.Semaphore(settings.passes_max)
        self.hands = Hands(
            history=MeasuredHistory(bus.history, self.metrics),
            adapter_of=clusters.adapter_of,
            clock=identity.now,
            new_id=identity.new_event_id,
            by=f"replica:{settings.name}",
            installation=settings.installation,
            spawn=self._spawn,
            wake=bus.wakeups.wake,
            publish=self._publish,
        )
        self._reconnects = bus.reconnects
        self.records = Records(settings.held_records_max)
        self.teller = Teller(bus.buckets, self.hands, clusters.last_good_find)
        self.passes = Passes(self.hands, bus.wakeups, self.records, self._tell)

    async def _tell(self, done: Pass, controls: Controls) -> None:
        entry = await self.teller.tell(done, controls)
        if entry is not None:
            self.metrics.told(entry, done)

    async def _publish(self, record: Record) -> None:
        await self.teller.receipts(record)

    def _forget(self) -> None:
        """Let every cache of passes go: the store may be an older copy of itself (L14)."""
        self.passes.forget()
        self.teller.forget()

    def _spawn(self, call: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(self._call(call))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _call(self, call: Coroutine[Any, Any, None]) -> None:
        try:
            await call
        except StreamError as error:
            log.warning("a call's reply was not stored: unknown until its bound", why=str(error))

    def rank(self, shard: int) -> int:
        """This replica's place for the shard among those that take work."""
        return rank_of(shard, self.settings.name, self.live)

    def stop(self) -> None:
        """Take nothing new; `run` returns once what is in hand is done, or the drain's bound has passed."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until stopped. Raises WrongStreamError when a newer generation of the history has taken over."""
        await self._beat()
        loops: list[Coroutine[Any, Any, None]] = [self._beats(self.settings.heartbeat_s), self._follow()]
        if not self.settings.observe:
            loops.append(self._sweep())
            loops += [self._serve(self._next_wake, shard) for shard in range(self.bus.shards)]
            loops += [self._serve(self._next_command, shard) for shard in range(self.bus.shards)]
            loops.append(self._watch_clusters())
        tasks = [asyncio.create_task(loop) for loop in loops]
        stopped = asyncio.create_task(self._stopping.wait())
        log.info("live", replica=self.settings.name, shards=self.bus.shards)
        done, _ = await asyncio.wait({stopped, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        for task in (*tasks, stopped):
            task.cancel()
        await asyncio.gather(*tasks, stopped, return_exceptions=True)
        await self._drain()
        if self.fatal is not None:
            raise self.fatal
        for task in done - {stopped}:
            task.result()

    async def _drain(self) -> None:
        """Let passes and calls in hand finish within the bound; the rest is for whoever reads the history.

        Heartbeats go on until it is over, and say so: a replica that drains is not dead.
        """
        self._measure(shards=0)
        beating = asyncio.create_task(self._beats(0.0))
        pending = {*self._passes, *self._calls}
        if pending:
            log.info("draining", in_flight=len(pending), left_s=self.settings.drain_s)
            _, late = await asyncio.wait(pending, timeout=self.settings.drain_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)  # a beat after the leave would bring it back
        try:
            await self.bus.buckets.leave(self.settings.name)
        except StreamError as error:
            log.warning("not signed off: counts as silent for an hour", why=str(error))
        log.info("drained", replica=self.settings.name)

    async def _serve(self, take: Callable[[int], Awaitable[None]], shard: int) -> None:
        """Take one message of a shard after another; a bus that is away is waited for."""
        while True:
            try:
                await take(shard)
            except WrongStreamError as error:
                self.fatal = error
                self.stop()
                return
            except NotPermittedError as error:
                log.error("not permitted", why=str(error))
                await asyncio.sleep(5.0)
            except (BusUnreachableError, UndecidedError) as error:
                log.warning("the bus does not answer", why=str(error))
                await asyncio.sleep(0.5)
            except StreamError as error:
                log.warning("left for another try", why=str(error))
                await asyncio.sleep(0.2)

    async def _next_wake(self, shard: int) -> None:
        async with self._room:
            pass
        delivery = await self.bus.wakeups.receive(shard, rank=self.rank(shard))
        if delivery is None:
            return
        if not (is_token(delivery.tenant) and (is_token(delivery.job) or delivery.job == CONTROLS)):
            log.warning("a wake-up that names no job", tenant=delivery.tenant[:80], job=delivery.job[:80])
            await delivery.ack()
            return

        if self._reconnects != self.bus.reconnects:
            self._reconnects = self.bus.reconnects
            self._forget()

        self.metrics.woken()

        async def work() -> None:
            begun = time.perf_counter()
            try:
                done = await self.passes.look(delivery.tenant, delivery.job)
                self.metrics.passed(done, time.perf_counter() - begun)
            except StreamError:
                raise
            except Exception:  # any: a fault in one job's pass must not keep its shard from the others
                log.exception("a pass failed; tried again later", tenant=delivery.tenant, job=delivery.job)
                self.metrics.failed()
                await self.bus.wakeups.wake_at(delivery.tenant, delivery.job, identity.now() + FAULT_RETRY)
            await delivery.ack()

        await self._in_hand(work, delivery.in_progress)

    async def _next_command(self, shard: int) -> None:
        delivery = await self.bus.commands.receive(shard, rank=self.rank(shard))
        if delivery is None:
            return

        async def work() -> None:
            receipt = await commands.handle(self.hands, self.bus.buckets, delivery, self.bus.wakeups.wake_at)
            if receipt is not None:
                self.metrics.answered(receipt)

        await self._in_hand(work, delivery.in_progress)

    async def _in_hand(
        self, work: Callable[[], Coroutine[Any, Any, None]], in_progress: Callable[[], Awaitable[None]]
    ) -> None:
        """Do the work of one message once there is room, keeping it in hand from now on.

        It outlives a stop, which the drain then waits for.
        """
        holding = asyncio.create_task(keep_hold(in_progress, self.settings.lease_s, self.metrics.displaced))
        task = asyncio.create_task(self._with_room(work))
        self._passes.add(task)
        task.add_done_callback(self._passes.discard)
        task.add_done_callback(lambda _: holding.cancel())
        await asyncio.shield(task)

    async def _with_room(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with self._room:
            await work()

    async def _beats(self, first_in_s: float) -> None:
        await asyncio.sleep(first_in_s)
        while True:
            try:
                await self._beat()
            except StreamError as error:
                log.warning("no heartbeat", why=str(error))
            await asyncio.sleep(self.settings.heartbeat_s)

    async def _beat(self) -> None:
        name = self.settings.name
        takes_work = not (self.settings.observe or self._stopping.is_set())
        others = beats.read(await self.bus.buckets.replicas())
        others.pop(name, None)
        self.live = tuple(sorted(beats.that_take_work(others) | ({name} if takes_work else set())))
        if takes_work:
            self._compare(beats.that_serve_others(others.values(), self.clusters.serves))
        first = [s for s in range(self.bus.shards) if takes_work and self.rank(s) == 0]
        beat = Beat(
            name=name,
            version=identity.version(),
            at=identity.now(),
            shards=tuple(first),
            clusters={a.cluster: a.last_good_find_at for a in self.clusters.known()},
            open_jobs=len(self.open_jobs.open),
            in_flight=len(self._passes) + len(self._calls),
            draining=self._stopping.is_set(),
            observing=self.settings.observe,
            host=identity.host(),
            serves=self.clusters.serves,
        )
        self._measure(shards=len(first))
        await self.bus.buckets.beat(name, msgspec.json.encode(beat), ttl_s=3 * self.settings.heartbeat_s)

    def _compare(self, others: dict[str, tuple[str, ...]]) -> None:
        """Warn once of each replica that serves other clusters: it may be given jobs that only this one could serve."""
        for name, serves in others.items():
            if self._others.get(name) != serves:
                log.warning(
                    "a replica serves other clusters: give all replicas of a bus the same --clusters",
                    replica=name,
                    serves=",".join(serves)[:200],
                    here=",".join(self.clusters.serves)[:200],
                )
        self._others = others

    def _measure(self, *, shards: int) -> None:
        self.metrics.beat(
            live=len(self.live),
            shards=shards,
            reconnects=self.bus.reconnects,
            draining=self._stopping.is_set(),
        )
        self.metrics.holds(
            open_jobs=len(self.open_jobs.open),
            records=len(self.records),
            passes=len(self._passes),
            calls=len(self._calls),
        )
        for cluster in self.clusters.known():
            self.metrics.found(cluster.cluster, cluster.last_good_find_at)

    async def _follow(self) -> None:
        """Keep the names of the open jobs; a newer generation of the history ends this replica."""
        braking = Braking(self.hands, lambda cluster: not self.settings.observe and self._mine(("brake", cluster)))

        async def seen(entry: Entry) -> None:
            self.metrics.seen(entry)
            await braking.seen(entry)

        def lost() -> None:
            braking.forget()
            self._forget()

        try:
            braking.restore(await follower.begin(self.open_jobs, self.bus.buckets))
            await follower.follow(self.bus.history, self.open_jobs, seen, lost)
        except WrongStreamError as error:
            self.fatal = error
            self.stop()

    async def _sweep(self) -> None:
        sweep = Sweep(self.bus, self.open_jobs, self.settings.sweep_s, self._mine, identity.now)
        await sweep.run(lambda: self._mine(("", "checkpoint")), self.settings.name)

    def _mine(self, name: follower.Name) -> bool:
        return self.rank(shard_guess(name, self.bus.shards)) == 0

    async def _watch_clusters(self) -> None:
        """Watch events of adapters inside this process become wake-ups; an agent publishes its own."""
        async with asyncio.TaskGroup() as watching:
            for adapter in self.clusters.known():
                if adapter.watches:
                    watching.create_task(self._watch(adapter))
            await asyncio.Event().wait()

    async def _watch(self, adapter: BoundedAdapter) -> None:
        while True:
            try:
                async for name in adapter.watch():
                    await self.bus.wakeups.wake(name.tenant, name.job)
            except Exception as error:  # any: a watch only wakes; whatever ends it, it is begun again
                log.warning("watch ended", cluster=adapter.cluster, why=str(error))
            await asyncio.sleep(1.0)
