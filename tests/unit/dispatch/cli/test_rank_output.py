"""`logs`: as many last lines as were asked for, each whole, in one document or one stream."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.simulated.adapter import SlurmAdapter
from dispatch.cli import output
from dispatch.cli.commands.logs import LogsOptions
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.main import run
from dispatch.cli.output import execution_of, show_output
from dispatch.cli.params import GlobalFlags
from dispatch.cli.rank_output import CHUNK_BYTES, RankOutput, lines_of
from streams.messages.calls import JobName, Output
from streams.messages.values import ObjectRef, Phase
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import Stage

AT = datetime(2026, 1, 1, tzinfo=UTC)
NAME = JobName(installation="inst", tenant="nlp", job="llama")


class Written(SlurmAdapter):
    """A cluster whose every rank wrote these bytes, given at most `most` at a time as the port says."""

    def __init__(self, driver: Driver, written: bytes = b"", *, most: int = CHUNK_BYTES) -> None:
        super().__init__(driver.slurm, driver.way)
        self.written = written
        self.most = most

    async def read_output(self, name: JobName, object: ObjectRef, run: int, rank: int, *, offset: int = 0) -> Output:
        if not self.written:
            return Output(next=max(offset, 0))
        start = max(len(self.written) + offset, 0) if offset < 0 else offset
        most = CHUNK_BYTES if offset < 0 else self.most
        data = self.written[start : start + most]
        return Output(data=data, next=start + len(data), source=f"{run}/{rank}.log", written_at=AT)


async def ran(phase: Phase = Phase.ENDED) -> Driver:
    driver = Driver()
    await driver.submit("sleep 60", nodes=2)
    if phase is Phase.RUNNING:
        await driver.until(lambda d: d.phase is Phase.RUNNING)
    else:
        await driver.settle()
    return driver


async def rank_of(written: bytes, *, most: int = CHUNK_BYTES) -> RankOutput:
    driver = await ran()
    held, run = execution_of(driver.record, None)
    return RankOutput(Written(driver, written, most=most), NAME, held, run, 0, "n1")


def stage(
    monkeypatch: pytest.MonkeyPatch, driver: Driver, written: bytes, *, as_json: bool = True
) -> tuple[Stage, Written]:
    adapter = Written(driver, written)
    monkeypatch.setattr(output, "adapter_for", lambda *_: adapter)
    return Stage(driver, GlobalFlags(json=as_json, timeout=0.5)), adapter


def streamed(shown: Stage) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shown.said.splitlines()]


LONG = [f"{number:06d} {'x' * 100}" for number in range(5000)]


@pytest.mark.parametrize("most", [CHUNK_BYTES, 7000])
@pytest.mark.parametrize("count", [1, 50, 2000, 4999, 5000, 6000])
@pytest.mark.parametrize("end", ["\n", ""])
async def test_as_many_whole_lines_are_read_as_were_asked_for(count: int, end: str, most: int) -> None:
    rank = await rank_of(("\n".join(LONG) + end).encode(), most=most)
    assert await rank.tail(count, flush=True) == LONG[-count:]


async def test_a_line_longer_than_one_read_is_shown_whole() -> None:
    long = "y" * (3 * CHUNK_BYTES)
    rank = await rank_of(f"first\n{long}\nlast\n".encode())
    assert await rank.tail(2, flush=True) == [long, "last"]


async def test_no_half_of_a_first_line_is_shown_when_the_file_was_cut_meanwhile() -> None:
    rank = await rank_of(("z" * CHUNK_BYTES + "\n" + "\n".join(LONG)).encode())
    adapter = rank.adapter
    assert isinstance(adapter, Written)
    last = await adapter.read_output(NAME, rank.held.ref, 0, 0, offset=-CHUNK_BYTES)
    adapter.written = b"new\n"
    told = lines_of(await rank._reaching_back(last, 4000))
    assert told == LONG[-len(told) :]
    assert len(told) > 100


async def test_a_line_that_is_still_written_is_shown_once_when_it_is_whole() -> None:
    rank = await rank_of(b"one\ntwo\nthr")
    adapter = rank.adapter
    assert isinstance(adapter, Written)
    assert await rank.tail(2, flush=False) == ["one", "two"]
    adapter.written += b"ee\nfour"
    assert await rank.more(flush=False) == ["three"]
    assert await rank.more(flush=True) == ["four"]


def test_progress_bars_and_foreign_line_ends_are_lines_too() -> None:
    assert lines_of(b"1%\r2%\r3%\na\r\n\nb") == ["1%", "2%", "3%", "a", "", "b"]
    assert lines_of(b"") == []


async def test_with_json_it_is_one_document_of_every_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, _ = stage(monkeypatch, await ran(), b"a\nb\n")
    assert await show_output(shown, LogsOptions(job="llama", tail=1)) is Exit.DONE
    document = json.loads(shown.said)
    assert document["schema"] == "dispatch.logs/1"
    data = document["data"]
    assert (data["execution"], data["epoch"], data["cause"]) == ("1.0", 1000000, "completed")
    assert [rank["rank"] for rank in data["ranks"]] == [0, 1]
    assert data["ranks"][0] == {
        "rank": 0,
        "node": "n1",
        "source": "0/0.log",
        "written_at": "2026-01-01T00:00:00.000Z",
        "lines": ["b"],
    }


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("as_json", [False, True])
async def test_when_nothing_is_left_it_is_exit_3_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, *, follow: bool, as_json: bool
) -> None:
    shown, _ = stage(monkeypatch, await ran(), b"", as_json=as_json)
    with pytest.raises(CliError, match=r"nothing is left of what 1\.0 wrote") as caught:
        await show_output(shown, LogsOptions(job="llama", follow=follow))
    assert (caught.value.code, caught.value.exit_code) == ("no-output", Exit.NOT_FOUND)
    assert caught.value.why == ("the cluster has no output of 2 ranks",)
    assert not (as_json and shown.said)


async def test_what_ended_before_since_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = await ran()
    await driver.pass_time(3600)
    shown, _ = stage(monkeypatch, driver, b"a\n")
    with pytest.raises(CliError) as caught:
        await show_output(shown, LogsOptions(job="llama", since=60.0))
    assert (caught.value.code, caught.value.why) == ("no-output", ("it ended before the time that --since gives",))


async def test_followed_with_json_each_line_has_its_revision_and_the_end_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = await ran(Phase.RUNNING)
    begun = driver.record.revision
    shown, adapter = stage(monkeypatch, driver, b"a\nb")
    following = asyncio.create_task(show_output(shown, LogsOptions(job="llama", ranks="1", follow=True)))
    while not shown.said:
        await asyncio.sleep(0)
    adapter.written += b"c\nd"
    await driver.settle()
    assert await following == Exit.DONE
    lines = streamed(shown)
    assert [line["text"] for line in lines[:-1]] == ["a", "bc", "d"]
    assert lines[0] == {"kind": "line", "rank": 1, "node": "n2", "text": "a", "revision": begun}
    assert lines[-1] == {"kind": "end", "because": "ended", "revision": driver.record.revision}


@pytest.mark.parametrize("tail", ["-3", "x", "²"])
def test_a_tail_is_a_number_of_lines(capsys: pytest.CaptureFixture[str], tail: str) -> None:
    assert run(["logs", "llama", "--tail", tail]) == 2
    assert "  code  bad-usage (exit 2)" in capsys.readouterr().err
