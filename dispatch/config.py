"""Where to find the bus, and in whose name: each setting with the place it came from.

First found wins: flag, environment, `.dispatch/` of a running `dispatch up` here or in a parent, the config
file's `current`. URL and credentials come from one place together. A job's own `DISPATCH_TENANT`, `_JOB`,
`_SUBMISSION`, `_RUN` and `_EPOCH` are never read, so that the tool works inside a job.

ConfigError    bad usage: nothing can be sent with these settings. Says why and what to do
"""

from __future__ import annotations

import base64
import json
import os
import pwd
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dispatch.contexts import BusAddress, ConfigError, Context, ContextsFile, contexts_path, read_contexts
from streams.addresses import fault_in, shown
from streams.owned import stranger
from streams.subjects import is_token

UP_FOLDER = ".dispatch"
UP_FILE = "up.json"
NATS_PORT = 4222  # of a server whose address names none
_INBOX_PREFIX = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\Z")


@dataclass(frozen=True, slots=True)
class Flags:
    """What was typed; None where nothing was."""

    context: str | None = None
    nats: str | None = None
    creds: str | None = None
    tenant: str | None = None
    cluster: str | None = None
    inbox_prefix: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One value, the place it came from, and what the places after it say of it."""

    value: str | None
    source: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """What a command runs with. `address` is None when no place names a bus: never localhost.

    `protect`: a name is typed before what cannot be undone, since `protect_source` says so. `local_dir`: the local
    cluster's directory, where the settings are those of a `dispatch up` on this machine.
    """

    address: BusAddress | None
    bus_source: str
    tenant: Found
    cluster: Found
    context: Found
    actor: str
    protect: bool = False
    protect_source: str = ""
    local_dir: Path | None = None

    def where(self, cluster: str | None = None) -> str:
        """`prod · nlp @ hpc2`: what everything that changes something prints first."""
        at = f" @ {cluster or self.cluster.value}" if cluster or self.cluster.value else ""
        return f"{self.bus_name()} · {self.tenant.value}{at}"

    def bus_name(self) -> str:
        """The bus in a word: the context its address is from, the folder of a `dispatch up` here, or source and host."""
        if self.local_dir is not None:
            return self.local_dir.parent.name
        if self.address is None or self.bus_source == _context_source(self.context.value):
            return self.context.value or self.bus_source
        first, *others = (without_user(url) for url in self.address.urls)
        return f"{self.bus_source} {first}" + (f" and {len(others)} more" if others else "")

    def bus(self) -> BusAddress:
        """Where the bus is. Raises ConfigError when no place names one, or the credentials may be read by others."""
        if self.address is None:
            raise ConfigError(
                "no bus is named",
                why="no --nats, no DISPATCH_NATS_URL, no running `dispatch up` here, no current context",
                do="dispatch up      start one on this machine, or: dispatch context use NAME",
                code="no-bus",
            )
        if self.address.creds is not None:
            check_creds(self.address.creds)
        return self.address

    def tenant_name(self) -> str:
        """The tenant. Raises ConfigError when no place names one."""
        if self.tenant.value is None:
            raise ConfigError(
                "no tenant is named",
                why="no --tenant, no DISPATCH_DEFAULT_TENANT, none in the context",
                do="add --tenant NAME, or tenant: NAME to the context",
                code="no-tenant",
            )
        return self.tenant.value


@dataclass(frozen=True, slots=True)
class Place:
    """One place that may hold settings."""

    source: str
    bus: BusAddress | None = None
    tenant: str | None = None
    cluster: str | None = None
    actor: str | None = None
    spelled: tuple[str, str, str] | None = None
    local_dir: Path | None = None

    def name_of(self, setting: str) -> str:
        """How a person gives this setting here: `--tenant`, `DISPATCH_DEFAULT_TENANT`, `context prod`."""
        if self.spelled is None:
            return self.source
        return self.spelled[("nats", "tenant", "cluster").index(setting)]


_FLAGS = ("--nats", "--tenant", "--cluster")
_ENVIRONMENT = ("DISPATCH_NATS_URL", "DISPATCH_DEFAULT_TENANT", "DISPATCH_DEFAULT_CLUSTER")


def resolve(flags: Flags, environ: Mapping[str, str], here: Path) -> Settings:
    """The settings of this command line. Raises ConfigError."""
    named, source = _named_context(flags, environ)
    contexts = read_contexts(contexts_path(environ))
    up = None if named is not None else running_up(here)
    if named is None and up is None:
        named, source = contexts.current, f"current in {contexts.path}"
    context = None if named is None else contexts.get(named)
    places = _places(flags, environ, context, source, up)
    at = next((place for place in places if place.bus), None)
    address = at.bus if at else None
    _check_urls(address, at.name_of("nats") if at else "")
    protecting = _protecting(contexts, context, at)
    return Settings(
        address=address,
        bus_source=at.name_of("nats") if at else "",
        tenant=_checked("tenant", _first("tenant", places)),
        cluster=_checked("cluster", _first("cluster", places)),
        context=Found(context.name if context else None, source if context else ""),
        actor=_actor(next((place.actor for place in places if place.actor), None), address, environ),
        protect=protecting is not None,
        protect_source=_context_source(protecting.name) if protecting else source if context else "",
        local_dir=at.local_dir if at else None,
    )


def _protecting(contexts: ContextsFile, context: Context | None, at: Place | None) -> Context | None:
    """The context whose `protect` is in force, or None.

    The context in use, also where another place gives the address; and any whose servers that address names: a bus
    is not less protected because it was reached by its URL.
    """
    if context is not None and context.protect:
        return context
    if at is None or at.bus is None or at.local_dir is not None:
        return None
    if context is not None and at.source == _context_source(context.name):
        return None
    named = {_server(url) for url in at.bus.urls}
    others = (each for _, each in sorted(contexts.contexts.items()) if each.protect)
    return next((each for each in others if named & {_server(url) for url in each.bus.urls}), None)


def _context_source(name: str | None) -> str:
    return f"context {name}"


def without_user(url: str) -> str:
    """`nats-1.example:4222`: a server as it may be shown, without scheme, user and password."""
    return shown(url).rpartition("://")[2].rstrip("/")


def _server(url: str) -> str:
    """A server, however it is spelled."""
    host = without_user(url).lower()
    return host if re.search(r":[0-9]+\Z", host) else f"{host}:{NATS_PORT}"


def _named_context(flags: Flags, environ: Mapping[str, str]) -> tuple[str | None, str]:
    if flags.context is not None:
        return flags.context, "--context"
    if environ.get("DISPATCH_CONTEXT"):
        return environ["DISPATCH_CONTEXT"], "DISPATCH_CONTEXT"
    return None, ""


def _places(
    flags: Flags, environ: Mapping[str, str], context: Context | None, source: str, up: Place | None
) -> list[Place]:
    """Every place in order; a context stands where its name was found."""
    typed = _flags_place(flags)
    env = _environment_place(environ)
    chosen = [] if context is None else [_context_place(context)]
    if source == "--context":
        return [typed, *chosen, env]
    return [typed, env, *([up] if up else []), *chosen]


def _flags_place(flags: Flags) -> Place:
    if flags.creds is not None and flags.nats is None:
        raise ConfigError("--creds goes with --nats", why="URL and credentials come from one place together")
    if flags.inbox_prefix is not None and flags.nats is None:
        raise ConfigError("--inbox-prefix goes with --nats", why="URL and credentials come from one place together")
    bus = _address(flags.nats, flags.creds, _prefix(flags.inbox_prefix, "--inbox-prefix"))
    return Place("flags", bus, flags.tenant, flags.cluster, spelled=_FLAGS)


def _environment_place(environ: Mapping[str, str]) -> Place:
    url, creds = environ.get("DISPATCH_NATS_URL"), environ.get("DISPATCH_NATS_CREDS")
    if creds and not url:
        raise ConfigError(
            "DISPATCH_NATS_CREDS goes with DISPATCH_NATS_URL", why="URL and credentials come from one place together"
        )
    prefix = environ.get("DISPATCH_NATS_INBOX_PREFIX") or None
    if prefix and not url:
        raise ConfigError(
            "DISPATCH_NATS_INBOX_PREFIX goes with DISPATCH_NATS_URL",
            why="URL and credentials come from one place together",
        )
    bus = _address(url, creds, _prefix(prefix, "DISPATCH_NATS_INBOX_PREFIX"))
    tenant, cluster = (environ.get(name) or None for name in _ENVIRONMENT[1:])
    return Place("environment", bus, tenant, cluster, spelled=_ENVIRONMENT)


def _context_place(context: Context) -> Place:
    return Place(_context_source(context.name), context.bus, context.tenant, context.cluster, context.actor)


def _prefix(text: str | None, source: str) -> str | None:
    """An inbox prefix, of the words that a subject may have. Raises ConfigError."""
    if text is not None and not _INBOX_PREFIX.match(text):
        raise ConfigError(
            f"inbox prefix {text[:70]!r} is none",
            why=f"it comes from {source}; a prefix is words of letters, digits, - and _, with dots between",
            do="as it is printed with the permissions, such as _INBOX_ana",
        )
    return text


def _address(url: str | None, creds: str | None, inbox_prefix: str | None) -> BusAddress | None:
    urls = tuple(each.strip() for each in (url or "").split(",") if each.strip())
    return BusAddress(urls, Path(creds) if creds else None, inbox_prefix=inbox_prefix) if urls else None


def _check_urls(address: BusAddress | None, source: str) -> None:
    """Refuse what is no server's address, before anything tries to connect to it. Raises ConfigError."""
    for url in address.urls if address else ():
        if (fault := fault_in(url)) is not None:
            raise ConfigError(
                f"{shown(url)[:70]!r} is no address of a server",
                why=f"it comes from {source}; {fault}",
                do="such as nats://host:4222, or tls://host:4222",
            )


def _first(name: str, places: list[Place]) -> Found:
    """The first value, its place, and where later places say otherwise."""
    said = [(place, value) for place in places if (value := getattr(place, name)) is not None]
    if not said:
        return Found(None, "")
    first, value = said[0]
    others = tuple(f"{place.name_of(name)} says {other}" for place, other in said[1:] if other != value)
    return Found(value, first.name_of(name), others)


def _checked(what: str, found: Found) -> Found:
    if found.value is not None and not is_token(found.value):
        raise ConfigError(
            f"{what} {found.value[:70]!r} is no name",
            why=f"it comes from {found.source}; names are 1 to 63 of a-z, 0-9 and -",
        )
    return found


def running_up(here: Path) -> Place | None:
    """The `dispatch up` that runs in `here` or the nearest parent; one that has ended is passed over."""
    places = (read_up(folder / UP_FOLDER) for folder in (here, *here.parents))
    return next((place for place in places if place is not None), None)


def read_up(folder: Path) -> Place | None:
    """Where the `dispatch up` that keeps everything in `folder` says its bus is; None if none of ours runs there.

    A folder that others may write is passed over: below it, they would choose the bus and what runs on this machine.
    """
    try:
        if stranger(folder):
            return None
        told = json.loads((folder / UP_FILE).read_text(encoding="utf-8"))
        if not isinstance(told, dict) or not _alive(int(told["pid"])):
            return None
        nats = tuple(str(url) for url in told["nats"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    texts = {name: str(told[name]) if told.get(name) else None for name in ("creds", "tenant", "cluster", "actor")}
    creds = None if texts["creds"] is None else folder / texts["creds"]
    monitoring = tuple(str(url) for url in told.get("monitoring") or ())
    bus = BusAddress(nats, creds, monitoring=monitoring) if nats else None
    return Place(str(folder), bus, texts["tenant"], texts["cluster"], texts["actor"], local_dir=folder / "local")


def _alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def check_creds(path: Path) -> None:
    """Refuse credentials that others may read. A file that is root's (mounted by a platform) may be group-readable."""
    try:
        status = path.stat()
    except OSError as error:
        raise ConfigError(
            f"credentials {path} cannot be read", why=str(error.strerror), code="no-credentials", exit_code=5
        ) from error
    forbidden = 0o077 if status.st_uid == os.getuid() else 0o007
    if stat.S_IMODE(status.st_mode) & forbidden:
        raise ConfigError(
            f"credentials {path} may be read by others",
            why=f"mode {stat.S_IMODE(status.st_mode):04o}",
            do=f"chmod 600 {path}",
            code="open-credentials",
            exit_code=5,
        )


_JWT = re.compile(r"-----BEGIN NATS USER JWT-----\s+(?P<jwt>[A-Za-z0-9_\-.]+)\s+-+END")


def _actor(named: str | None, address: BusAddress | None, environ: Mapping[str, str]) -> str:
    """Whom commands are published as: what the credentials are named, else the person at this machine."""
    creds = address.creds if address else None
    return named or name_in_creds(creds) or _token(environ.get("USER") or environ.get("LOGNAME") or _account())


def _account() -> str:
    """The name of this process's account, or its number where it has none."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"


def name_in_creds(creds: Path | None) -> str | None:
    """The user's name in a credentials file, if it may be a subject's token. Never the secret."""
    if creds is None:
        return None
    try:
        match = _JWT.search(creds.read_text(encoding="ascii"))
        if match is None:
            return None
        body = match["jwt"].split(".")[1]
        name = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))["name"]
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return None
    return _token(str(name))


def _token(text: str) -> str:
    """`text` as a subject's token; `someone` if nothing is left of it."""
    word = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63].strip("-")
    return word if is_token(word) else "someone"


__all__ = ["ConfigError", "Flags", "Found", "Settings", "check_creds", "read_up", "resolve", "running_up"]
