"""`--timeout`: of a command that waits it is the wait's, of any other the answer's."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest

from dispatch.cli.main import run
from dispatch.cli.tool import TIMEOUT_S, Tool

DAY_S = 86400.0


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Tool]:
    """The tools of the commands that got as far as their work, which is not done."""
    tools: list[Tool] = []

    def kept(tool: Tool, work: Coroutine[Any, Any, int]) -> int:
        work.close()
        tools.append(tool)
        return 0

    monkeypatch.setattr(Tool, "run", kept)
    return tools


@pytest.mark.parametrize(
    "words",
    [
        "watch llama",
        "submit llama.yaml --wait",
        "submit llama.yaml --job-exit",
        "submit llama.yaml --until running",
        "cancel llama --wait",
        "history llama --follow",
        "logs llama -f",
    ],
)
def test_a_command_that_waits_for_a_day_asks_a_bus_that_is_silent_again_within_seconds(
    words: str, ran: list[Tool]
) -> None:
    assert run([*words.split(), "--timeout", "1d"]) == 0
    (tool,) = ran
    assert tool.timeout_s == TIMEOUT_S
    assert tool.wait_until is not None


@pytest.mark.parametrize("words", ["submit llama.yaml", "cancel llama --reason x", "history llama", "list"])
def test_a_command_that_waits_for_nothing_else_waits_as_long_for_its_answer(words: str, ran: list[Tool]) -> None:
    assert run([*words.split(), "--timeout", "1d"]) == 0
    assert [tool.timeout_s for tool in ran] == [DAY_S]


@pytest.mark.parametrize("words", ["watch llama", "cancel llama --wait"])
def test_a_wait_without_a_bound_has_none_and_a_short_one_is_of_each_answer_too(words: str, ran: list[Tool]) -> None:
    assert run(words.split()) == 0
    assert run([*words.split(), "--timeout", "1s"]) == 0
    assert [(tool.timeout_s, tool.wait_until is None) for tool in ran] == [(TIMEOUT_S, True), (1.0, False)]
