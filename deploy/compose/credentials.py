"""Keys, permissions and settings of a composition: `credentials.py FOLDER` makes what is missing there.

Each service is given one folder: `config.yaml` with the one context it needs, and the seed of its own key. The servers
are given public keys and the secret that only they share. What exists is kept, so that it may run before every start.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from pathlib import Path

import nkeys  # type: ignore[import-untyped]

from streams import permissions
from streams.permissions import Grant

NODES = ("nats-1", "nats-2", "nats-3")
CLUSTER = "local"
TENANT = "default"
OWNER = 10001  # the user of the image
SERVED: dict[str, Grant] = {
    "supervisor": permissions.supervisor("supervisor"),
    "agent": permissions.agent(CLUSTER),
    "person": permissions.service(TENANT, "person"),
}


def main() -> None:
    """Make every folder below the one that is named."""
    folder = Path(sys.argv[1])
    admin = _public_key(folder / "admin", inbox_prefix="_INBOX", actor="admin")
    users = [
        (grant, f"nkey: {_public_key(folder / name, inbox_prefix=grant.inbox_prefix, actor=name)}")
        for name, grant in SERVED.items()
    ]
    servers = folder / "nats"
    servers.mkdir(mode=0o700, exist_ok=True)
    _write(servers / "accounts.conf", permissions.server_accounts(users, admin=f"nkey: {admin}"), 0)
    if not (servers / "routes.conf").exists():
        _write(servers / "routes.conf", _routes(secrets.token_hex(24)), 0)
    sys.stdout.write(f"credentials of {', '.join(('admin', *SERVED))} are there\n")


def _public_key(folder: Path, *, inbox_prefix: str, actor: str) -> str:
    """The public key of the seed in `folder`, which is made if it is missing, with its context."""
    folder.mkdir(mode=0o700, exist_ok=True)
    os.chown(folder, OWNER, OWNER)
    seed = folder / "nats.seed"
    if not seed.exists():
        _write(seed, nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER).decode(), OWNER)
    context = {
        "nats": [f"nats://{node}:4222" for node in NODES],
        "monitoring": [f"http://{node}:8222" for node in NODES],
        "creds": seed.name,
        "inbox_prefix": inbox_prefix,
        "actor": actor,
        "tenant": TENANT,
        "cluster": CLUSTER,
    }
    config = {"current": "compose", "contexts": {"compose": context}}
    _write(folder / "config.yaml", json.dumps(config, indent=2) + "\n", OWNER)
    public: bytes = nkeys.from_seed(seed.read_bytes().strip()).public_key
    return public.decode()


def _routes(secret: str) -> str:
    """Jobs share the servers' network: without a secret of their own anyone on it could join as a server."""
    routes = ", ".join(f'"nats://route:{secret}@{node}:6222"' for node in NODES)
    return (
        f'cluster {{\n  name: dispatch\n  listen: "0.0.0.0:6222"\n'
        f'  authorization {{ user: route, password: "{secret}", timeout: 5 }}\n  routes: [{routes}]\n}}\n'
    )


def _write(path: Path, text: str, owner: int) -> None:
    """All of it or nothing, for its owner's eyes alone."""
    draft = path.with_name(f".{path.name}.new")
    draft.touch(mode=0o600)
    draft.write_text(text, encoding="utf-8")
    os.chown(draft, owner, owner)
    draft.replace(path)


if __name__ == "__main__":
    main()
