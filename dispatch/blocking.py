"""`dispatch.client` for programs without an event loop: the same methods, each waiting for its answer.

    with connect(BusSettings(urls=("nats://host:4222",)), tenant="nlp", actor="ana") as client:
        outcome = client.cancel("llama-7b", said=Said(note="wrong data mix"))

May be used from several threads; forked processes need a client of their own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, Self, TypeVar

from dispatch import client
from dispatch.client import TIMEOUT_S, AsyncClient, BusSettings, Outcome, RunOf, Said
from projections.record import Record
from streams.messages.commands import BrakeOrder, Command, IfUnknown, Retries
from streams.messages.events import Entry
from streams.messages.plan import RecoveryPlan
from streams.messages.receipts import Receipt
from streams.messages.spec import JobSpec
from streams.messages.values import Disposition, NodeAttested, Target

__all__ = ["BusSettings", "Client", "RunOf", "Said", "connect"]

T = TypeVar("T")


class Loop:
    """An event loop in a thread of its own, so that the connection lives between calls."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="dispatch-client", daemon=True)
        self._thread.start()
        self._closing = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, or what it raised. Raises RuntimeError once closed."""
        with self._closing:
            if self._loop.is_closed():
                work.close()
                raise RuntimeError("this client is closed")
            running = asyncio.run_coroutine_threadsafe(work, self._loop)
        return running.result()

    def close(self) -> None:
        """End the thread; work in hand is cancelled, and whoever waits for it gets CancelledError. Twice is once."""
        with self._closing:
            if self._loop.is_closed():
                return
            asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    @property
    def closed(self) -> bool:
        return self._loop.is_closed()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Client:
    """Commands and reads of one tenant. Each method promises what `AsyncClient`'s does."""

    def __init__(self, loop: Loop, inner: AsyncClient) -> None:
        self._loop = loop
        self._inner = inner

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect. A call that another thread waits in ends with `concurrent.futures.CancelledError`.

        What it sent stays sent: its command may take effect.
        """
        if self._loop.closed:
            return
        try:
            self._loop.run(self._inner.bus.close())
        finally:
            self._loop.close()

    def submit(self, job: str, spec: JobSpec, plan: RecoveryPlan | None = None, *, said: Said = Said()) -> Outcome:
        return self._loop.run(self._inner.submit(job, spec, plan, said=said))

    def cancel(self, job: str, *, if_unknown: IfUnknown = IfUnknown.REFUSE, said: Said = Said()) -> Outcome:
        return self._loop.run(self._inner.cancel(job, if_unknown=if_unknown, said=said))

    def hold(self, job: str, *, now: bool = False, instance: str | None = None, said: Said = Said()) -> Outcome:
        return self._loop.run(self._inner.hold(job, now=now, instance=instance, said=said))

    def release(self, job: str, *, instances: Sequence[str] = (), said: Said = Said()) -> Outcome:
        return self._loop.run(self._inner.release(job, instances=instances, said=said))

    def requeue(self, job: str, *, run: int, resubmit: bool = False, said: Said = Said()) -> Outcome:
        return self._loop.run(self._inner.requeue(job, run=run, resubmit=resubmit, said=said))

    def dispose(self, job: str, target: Target, disposition: Disposition, *, said: Said = Said()) -> Outcome:
        return self._loop.run(self._inner.dispose(job, target, disposition, said=said))

    def attest(self, job: str, node: str, state: NodeAttested, run: RunOf, *, said: Said = Said()) -> Outcome:
        return self._loop.run(self._inner.attest(job, node, state, run, said=said))

    def controls(
        self,
        *,
        cluster: str | None = None,
        retries: Retries | None = None,
        brake: BrakeOrder | None = None,
        observe: bool | None = None,
        said: Said = Said(),
    ) -> Outcome:
        return self._loop.run(
            self._inner.controls(cluster=cluster, retries=retries, brake=brake, observe=observe, said=said)
        )

    def send(self, command: Command) -> Outcome:
        return self._loop.run(self._inner.send(command))

    def receipt(self, command: str) -> Receipt | None:
        return self._loop.run(self._inner.receipt(command))

    def history(self, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        return self._loop.run(self._inner.history(job, after=after))

    def record(self, job: str) -> Record:
        return self._loop.run(self._inner.record(job))


def connect(settings: BusSettings, *, tenant: str, actor: str, timeout_s: float = TIMEOUT_S) -> Client:
    """A client on a connection and a thread of its own. Raises what `dispatch.client.connect` raises."""
    loop = Loop()
    try:
        return Client(loop, loop.run(client.connect(settings, tenant=tenant, actor=actor, timeout_s=timeout_s)))
    except BaseException:  # any: the thread must not outlive a connection that was never made
        loop.close()
        raise
