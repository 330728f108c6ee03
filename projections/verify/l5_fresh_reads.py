"""L5: a decision made on a stale read is refused by the store.

Judged: the revision that a writer says it had folded is that of the entry right before its own, and revisions
only grow. Evidence is appended under the same condition, so its chain is the same (L6).
"""

from __future__ import annotations

from collections.abc import Iterator

from projections.verify.facts import Facts, Stored

LAW = "L5"


def check(facts: Facts, stored: Stored) -> Iterator[str]:
    """Whether this event stands right behind what its writer had read."""
    expected = stored.envelope.expected
    if stored.revision <= facts.revision:
        yield f"stands at r{stored.revision}, behind r{facts.revision}"
    elif expected != facts.revision:
        yield f"was decided at r{expected}, but the entry before it is r{facts.revision}"
