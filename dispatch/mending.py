"""What mends a difference that the start-up check found. `--print-fix` mends servers; it cannot mend a stream."""

from __future__ import annotations

import re

from streams.jetstream.layout import Layout, generation_of

PRINT_FIX = "dispatch doctor bus --print-fix, in each server's configuration"
NAME_MONITORS = "--monitoring URL,… or monitoring: [URL, …] in the context: the http: port of every server"
SINGLE = "--single, if one server is meant"

_OF_CONSUMER = re.compile(r"(DISPATCH_\w+)/([\w-]+): ")
_OF_STREAM = re.compile(r"((?:KV_)?DISPATCH_\w+): ")


def mend(difference: str, layout: Layout) -> str:
    """What to do about one sentence of `streams.jetstream.check`."""
    made = setup_line(layout)
    if difference.endswith(": is missing"):
        return f"{made}, as admin"
    if of_consumer := _OF_CONSUMER.match(difference):
        stream, consumer = of_consumer.groups()
        return f"as admin: nats consumer rm {stream} {consumer}, then {made}"
    if of_stream := _OF_STREAM.match(difference):
        return _of_stream(of_stream[1], made)
    if difference.startswith("monitoring addresses:"):
        return NAME_MONITORS
    if difference.startswith("monitoring address:"):
        return "start that server, or correct --monitoring or the context's monitoring:"
    if difference.startswith("history: replicas is"):
        return f"as admin, each stream: nats stream edit STREAM --replicas=3; or {SINGLE}"
    if difference.startswith("servers: there are"):
        return f"add servers; or {SINGLE}"
    if ": version is" in difference:
        return "upgrade that nats-server"
    return PRINT_FIX


def _of_stream(stream: str, made: str) -> str:
    """A history is edited or restored, never made again; everything else can be made again."""
    edit = f"as admin: nats stream edit {stream}"
    if generation_of(stream) is not None:
        return f"{edit}; what cannot be edited: export, then setup --new-generation"
    return f"{edit}; what cannot be edited: nats stream rm {stream}, then {made}"


def setup_line(layout: Layout) -> str:
    """The set-up that made this bus: another number of shards or lease would differ from what is there."""
    return f"dispatch setup --replicas {layout.replicas} --shards {layout.shards} --lease {_duration(layout.lease_s)}"


def _duration(seconds: float) -> str:
    return f"{seconds:g}s" if seconds == int(seconds) else f"{round(seconds * 1000)}ms"
