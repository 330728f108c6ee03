"""`verify` and `logs`: was it ever twice, and whose output is asked for."""

from __future__ import annotations

import re

import pytest

from dispatch.cli.commands import verify
from dispatch.cli.commands.logs import ranks_of
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.output import execution_of
from tests.unit.dispatch.cli.stage import Stage
from tests.unit.dispatch.cli.test_looking import succeeded


async def test_verify_judges_a_job_and_says_that_it_never_ran_twice() -> None:
    stage = Stage(driver := await succeeded())
    histories = await verify._of_bus(stage, verify.VerifyOptions(jobs=("llama",)))
    assert verify._judged(stage, histories) is Exit.DONE
    assert re.match(
        rf"llama  {driver.record.number} events, r1-r\d+   11 laws hold, 0 broken, 4 n/a \(L11 L12 L13 L14\)\n"
        r"       execution 1\.0\n$",
        stage.said,
    )


async def test_logs_name_an_execution_or_say_that_there_is_none() -> None:
    driver = await succeeded()
    held, run = execution_of(driver.record, None)
    assert (held.submission, run.run) == (1, 0)
    assert execution_of(driver.record, "1.0")[1] == run
    for text, code in (("2.0", "no-such-object"), ("x", "bad-usage")):
        with pytest.raises(CliError) as caught:
            execution_of(driver.record, text)
        assert caught.value.code == code
    with pytest.raises(CliError, match="has no failed execution"):
        execution_of(driver.record, None, first_failed=True)


def test_ranks_are_numbers_that_the_job_has() -> None:
    assert ranks_of(None, 3) == [0, 1, 2]
    assert ranks_of("2,0", 3) == [2, 0]
    for text, code in (("3", "no-such-object"), ("a", "bad-usage"), ("²", "bad-usage"), ("9" * 5000, "bad-usage")):
        with pytest.raises(CliError) as caught:
            ranks_of(text, 3)
        assert caught.value.code == code
