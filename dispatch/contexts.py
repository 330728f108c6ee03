"""The config file: named contexts, and which one is current.

    current: prod
    contexts:
      prod: {nats: [tls://nats-1.example:4222], creds: prod.creds, tenant: nlp, cluster: hpc2, protect: true}

A context may also have `actor`, `tls_ca`, `inbox_prefix` and `monitoring` (a list of the servers' HTTP addresses).
Relative paths start at the file. A typo is an error with its line, not a setting that is silently missing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class ConfigError(ValueError):
    """Bad settings: what, why, what to do, a stable code, and the exit code (2, or 5 for credentials)."""

    def __init__(
        self, what: str, *, why: str = "", do: str = "", code: str = "bad-settings", exit_code: int = 2
    ) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.do = do
        self.code = code
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class BusAddress:
    """Where a bus is and how to be let in: taken whole from one place, never mixed.

    `tls_ca`: the authority to trust, if not the system's. `inbox_prefix`: what the credentials may subscribe to.
    """

    urls: tuple[str, ...]
    creds: Path | None = None
    tls_ca: Path | None = None
    inbox_prefix: str | None = None
    monitoring: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """One bus, in whose name and under which protection."""

    name: str
    bus: BusAddress
    tenant: str | None = None
    cluster: str | None = None
    actor: str | None = None
    protect: bool = False


@dataclass(frozen=True, slots=True)
class ContextsFile:
    """What the config file holds; empty if there is none."""

    path: Path
    current: str | None
    contexts: dict[str, Context]

    def get(self, name: str) -> Context:
        """Raises ConfigError with the names there are."""
        if name not in self.contexts:
            known = ", ".join(sorted(self.contexts)) or "none"
            raise ConfigError(
                f"no context is named {name!r}",
                why=f"{self.path} holds {known}",
                do="dispatch context list",
                code="no-such-context",
            )
        return self.contexts[name]


def contexts_path(environ: Mapping[str, str]) -> Path:
    """Where the config file is, whether or not it exists."""
    if environ.get("DISPATCH_CONFIG"):
        return Path(environ["DISPATCH_CONFIG"])
    base = environ.get("XDG_CONFIG_HOME")
    home = Path(base) if base else Path(environ.get("HOME") or str(Path.home())) / ".config"
    return home / "dispatch" / "config.yaml"


def read_contexts(path: Path) -> ContextsFile:
    """The contexts in `path`; none if the file does not exist. Raises ConfigError with the line."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ContextsFile(path, None, {})
    except OSError as error:
        raise ConfigError(f"{path} cannot be read", why=str(error.strerror)) from error
    if not data.strip():
        return ContextsFile(path, None, {})
    return _parsed(path, data)


def _parsed(path: Path, data: bytes) -> ContextsFile:
    from dispatch.contexts_yaml import parsed  # noqa: PLC0415  the YAML reader costs a start-up; most have no such file

    return parsed(path, data)


def set_current(file: ContextsFile, name: str | None) -> None:
    """Write `current` into the file, every other line kept as it is; atomically. None removes it.

    Raises ConfigError when the file is written so that a line cannot be exchanged, or cannot be written.
    """
    text = file.path.read_text(encoding="utf-8") if file.path.exists() else ""
    kept = [line for line in text.splitlines(keepends=True) if not line.startswith("current:")]
    changed = "".join([f"current: {name}\n", *kept] if name is not None else kept)
    if changed.strip() and _parsed(file.path, changed.encode()).current != name:
        raise ConfigError(f"{file.path} is not written line by line", do="set current in it by hand")
    try:
        _write(file.path, changed)
    except OSError as error:
        raise ConfigError(f"{file.path} cannot be written", why=str(error.strerror)) from error


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.chmod(0o600)
    draft.replace(path)
