"""What verify says of a story, in the form that tests compare."""

from __future__ import annotations

from projections.verify import verify
from tests.unit.projections.story import Story


def broken(story: Story) -> list[tuple[str, int, str]]:
    """Law, number and sentence of every breach."""
    return [(breach.law, breach.number, breach.sentence) for breach in verify(story.entries).broken]


def laws(story: Story) -> tuple[str, ...]:
    """The broken laws, each once."""
    return verify(story.entries).broken_laws


def only(story: Story, law: str) -> str:
    """The sentence of the first breach; AssertionError unless exactly this law is broken, at the last event."""
    found = broken(story)
    assert {name for name, _, _ in found} == {law}, found
    assert {number for _, number, _ in found} == {len(story.entries)}, found
    return found[0][2]
