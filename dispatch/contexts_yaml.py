"""The text of the config file -> contexts. Apart from `contexts`, so that who has no such file pays for no YAML."""

from __future__ import annotations

from pathlib import Path

from dispatch.contexts import BusAddress, ConfigError, Context, ContextsFile
from dispatch.jobfile.tree import Node, TreeError, parse

_TEXTS = ("creds", "tenant", "cluster", "actor", "tls_ca", "inbox_prefix")
FIELDS = ("nats", *_TEXTS, "protect", "monitoring")


def parsed(path: Path, data: bytes) -> ContextsFile:
    """The contexts in `data`. Raises ConfigError with the line."""
    try:
        root = _fields(parse(data), ("current", "contexts"))
        named = _fields(root["contexts"], None) if "contexts" in root else {}
        contexts = {name: _context(name, node, path.parent) for name, node in named.items()}
    except TreeError as error:
        raise ConfigError(f"{path} {error}" if error.line else f"{path}: {error}") from error
    current = root["current"].text or None if "current" in root else None
    return ContextsFile(path, current, contexts)


def _fields(node: Node, known: tuple[str, ...] | None) -> dict[str, Node]:
    if not isinstance(node.value, dict):
        raise TreeError("must be names with values", node.line)
    for name in node.value:
        if known is not None and name not in known:
            raise TreeError(f"{name}: unknown field; known here: {', '.join(known)}", node.keys.get(name))
    return node.value


def _context(name: str, node: Node, folder: Path) -> Context:
    held = _fields(node, FIELDS)
    texts: dict[str, str | None] = dict.fromkeys(_TEXTS)
    for key in texts.keys() & held.keys():
        if not held[key].text:
            raise TreeError(f"{name}.{key}: must be text", held[key].line)
        texts[key] = held[key].text
    protect = held["protect"].value if "protect" in held else False
    if not isinstance(protect, bool):
        raise TreeError(f"{name}.protect: must be true or false", held["protect"].line)
    bus = BusAddress(
        _urls(name, "nats", held, node),
        _path(folder, texts["creds"]),
        _path(folder, texts["tls_ca"]),
        texts["inbox_prefix"],
        _urls(name, "monitoring", held, node) if "monitoring" in held else (),
    )
    return Context(name, bus, texts["tenant"], texts["cluster"], texts["actor"], protect)


def _path(folder: Path, text: str | None) -> Path | None:
    return folder / Path(text).expanduser() if text else None


def _urls(name: str, key: str, held: dict[str, Node], owner: Node) -> tuple[str, ...]:
    if key not in held:
        raise TreeError(f"{name}.{key}: missing; write {key}: [nats://host:4222]", owner.line)
    node = held[key]
    urls = node.value if isinstance(node.value, list) else [node]
    if not urls or not all(isinstance(each.value, str) and each.value for each in urls):
        raise TreeError(f"{name}.{key}: must be a list of URLs", node.line)
    return tuple(each.text for each in urls)
