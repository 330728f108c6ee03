"""The images, built here from packages, and one composition for the tests of this tier."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.compose.composition import BASE, IMAGE, ROOT, Composition, done, run


@pytest.fixture(scope="session")
def images() -> None:
    """No image registry is needed: the base is Debian's own packages, the rest our wheel and what the lock names."""
    told = run("docker", "info")
    assert told.code == 0, f"the tier compose needs a Docker daemon, and none answers: {told.out[-300:]}"
    done("sh", str(ROOT / "scripts" / "base_image.sh"), BASE)
    done(sys.executable, "-m", "scripts.image", IMAGE, BASE)


@pytest.fixture(scope="session")
def composition(images: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composition]:
    """Healthy at first; nothing of it is left at the end."""
    folder: Path = tmp_path_factory.mktemp("compose")
    composed = Composition(folder, f"dispatch-test-{os.getpid()}")
    try:
        composed.up()
        yield composed
    finally:
        left = composed.down()
        assert left == []
