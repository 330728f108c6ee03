"""The images, built here from packages, and one composition for the tests of this tier."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.compose.composition import BASE, IMAGE, ROOT, Composition, done, run

NO_DAEMON = (
    "the tier compose needs a Docker daemon, and none answers: scripts/with_docker.sh make test-compose starts one"
)

# The Debian that brings the Python which runs this: wheels are for one Python.
SUITES = {(3, 11): "bookworm", (3, 13): "trixie"}
IMAGE_WITHIN_S = 480.0


@pytest.fixture(scope="session")
def images() -> None:
    """No image registry is needed: the base is Debian's own packages, the rest our wheel and what the lock names."""
    told = run("docker", "info")
    if told.code != 0:
        pytest.fail(f"{NO_DAEMON}\n{told.out[-300:]}", pytrace=False)
    suite = SUITES.get(sys.version_info[:2])
    if suite is None:
        pytest.fail(f"the tier compose needs the Python of a Debian: {SUITES}; this is {sys.version}", pytrace=False)
    done("sh", str(ROOT / "scripts" / "base_image.sh"), BASE, suite, within_s=IMAGE_WITHIN_S)
    done(sys.executable, "-m", "scripts.image", IMAGE, BASE, within_s=IMAGE_WITHIN_S)


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
