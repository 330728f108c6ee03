"""Where flags may be typed: before the verb, between a group and its verb, and behind it all mean the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence

TAKES_VALUE = frozenset(
    {"--context", "--nats", "--creds", "--inbox-prefix", "--tenant", "--cluster", "--color", "--timeout"}
    | {"--reason", "--command-id", "--confirm"}
)
HELP = frozenset({"-h", "--help"})


def verb_first(words: Sequence[str], takes_value: Collection[str] = TAKES_VALUE) -> list[str]:
    """The words with flags that were typed before the verb moved to the end, where they belong.

    `takes_value`: the flags whose next word is their value. Without a verb, or with a call for help, nothing moves.
    """
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in takes_value else 1
    if at == 0 or at >= len(words) or HELP & set(words[:at]):
        return list(words)
    end = words.index("--") if "--" in words else len(words)
    return [*words[at:end], *words[:at], *words[end:]]
