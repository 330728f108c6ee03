"""What this invocation has sent, so that leaving it says what stands. Of this process: a signal has no other place to look.

A command is `begun` before it is published: whoever leaves in between is told that it may take effect.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

SHOWN_MAX = 4


class Fate(StrEnum):
    """How far a command got, in the words that follow its name."""

    BEGUN = "may take effect"
    STANDS = "stands"
    REFUSED = "was refused"


class _Sent(NamedTuple):
    order: str
    fate: Fate


_sent: dict[str, _Sent] = {}


def begun(command: str, order: str) -> None:
    """`order`, such as `cancel of llama`, is about to be published under this command id."""
    _sent[command] = _Sent(order, Fate.BEGUN)


def became(command: str, fate: Fate) -> None:
    """The command got this far."""
    _sent[command] = _Sent(_sent[command].order, fate)


def never(command: str) -> None:
    """The command was not sent after all."""
    _sent.pop(command, None)


def forget() -> None:
    """A new command line: nothing was sent by it."""
    _sent.clear()


def anything() -> bool:
    """Whether a command of this invocation may have left this process."""
    return bool(_sent)


def is_known(command: str) -> bool:
    """Whether the command of this id may have left this process."""
    return command in _sent


def left() -> str:
    """What stands of this invocation, for the one line of leaving it."""
    if not _sent:
        return "no command was sent"
    told = [f"the {each.order} {each.fate} (command {command})" for command, each in _sent.items()]
    more = f"; and {len(told) - SHOWN_MAX} more" if len(told) > SHOWN_MAX else ""
    return "; ".join(told[:SHOWN_MAX]) + more
