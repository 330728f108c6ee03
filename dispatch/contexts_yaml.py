"""The text of the config file -> contexts. Apart from `contexts`, so that who has no such file pays for no YAML."""

from __future__ import annotations

from pathlib import Path

from dispatch.contexts import ConfigError, Context, ContextsFile
from dispatch.jobfile.tree import Node, TreeError, parse

_FIELDS = ("nats", "creds", "tenant", "cluster", "protect", "actor")


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
    held = _fields(node, _FIELDS)
    texts: dict[str, str | None] = dict.fromkeys(("creds", "tenant", "cluster", "actor"))
    for key in texts.keys() & held.keys():
        if not held[key].text:
            raise TreeError(f"{name}.{key}: must be text", held[key].line)
        texts[key] = held[key].text
    protect = held["protect"].value if "protect" in held else False
    if not isinstance(protect, bool):
        raise TreeError(f"{name}.protect: must be true or false", held["protect"].line)
    return Context(
        name=name,
        nats=_servers(name, node),
        creds=folder / Path(texts["creds"]).expanduser() if texts["creds"] else None,
        tenant=texts["tenant"],
        cluster=texts["cluster"],
        actor=texts["actor"],
        protect=protect,
    )


def _servers(name: str, node: Node) -> tuple[str, ...]:
    held = node.value["nats"] if isinstance(node.value, dict) and "nats" in node.value else None
    if held is None:
        raise TreeError(f"{name}.nats: missing; write nats: [nats://host:4222]", node.line)
    urls = held.value if isinstance(held.value, list) else [held]
    if not urls or not all(isinstance(each.value, str) and each.value for each in urls):
        raise TreeError(f"{name}.nats: must be a list of URLs", held.line)
    return tuple(each.text for each in urls)
