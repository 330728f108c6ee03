"""Simulated replicas log nothing; the next tier's do (`tests/conftest.py` puts the log back)."""

from __future__ import annotations

import pytest

from tests.simulator.silent import silence


@pytest.fixture(autouse=True)
def _silent(_logs_as_before: None) -> None:
    silence()
