"""An operator's signatures: accounts and users as JSON Web Tokens that a server checks, and TLS on the wire.

What each may do comes from `streams.permissions`, as in a server's own configuration. A token's form is that of
NATS's decentralised authentication (jwt version 2): claims of one issuer, signed with its Ed25519 key.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import nkeys  # type: ignore[import-untyped]  # the package has no types

from streams.permissions import BUS_ACCOUNT, Account, Grant, Use, accounts_of

HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}
NO_LIMIT = -1
ADMIN = "admin"
SUBJECT, HOST = "/CN=127.0.0.1", "subjectAltName=IP:127.0.0.1"
SYSTEM = Account(name="SYSTEM", offers=(), uses=())
LIMITS = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), NO_LIMIT)
STORAGE = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), NO_LIMIT)


class Key:
    """One Ed25519 key of NATS's kind; `prefix` says of an operator, an account or a user."""

    def __init__(self, prefix: int) -> None:
        self.seed = bytes(nkeys.encode_seed(os.urandom(32), prefix)).decode()
        self._pair = nkeys.from_seed(self.seed.encode())
        self.public = bytes(self._pair.public_key).decode()

    def issue(self, subject: str, name: str, claims: dict[str, Any]) -> str:
        """The token that says this of `subject`."""
        body = {"iat": int(time.time()), "iss": self.public, "name": name, "sub": subject, "nats": claims}
        digest = hashlib.sha256(json.dumps(body).encode()).digest()
        body["jti"] = base64.b32encode(digest).decode().rstrip("=")
        text = f"{_encoded(json.dumps(HEADER).encode())}.{_encoded(json.dumps(body).encode())}"
        return f"{text}.{_encoded(self._pair.sign(text.encode()))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Operator:
    """The operator, the accounts of these users, and a credentials file for each. `directory` keeps the files."""

    def __init__(self, directory: Path, grants: dict[str, Grant]) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.grants = grants
        self._key = Key(nkeys.PREFIX_BYTE_OPERATOR)
        self._accounts = accounts_of(list(grants.values()))
        self._keys = {account.name: Key(nkeys.PREFIX_BYTE_ACCOUNT) for account in (*self._accounts, SYSTEM)}
        self.authority, self._certificate, self._private = _certificate(directory)
        for name, grant in grants.items():
            self._write_creds(name, grant)
        self._write_creds(ADMIN, None)

    def creds(self, name: str) -> Path:
        """The user's credentials file."""
        return self.directory / f"{name}.creds"

    def server_config(self) -> str:
        """What a server needs to trust the operator, to know the accounts, and to speak TLS alone."""
        operator = self._key.issue(self._key.public, "operator", {"type": "operator", "version": 2})
        preloaded = (*self._accounts, SYSTEM)
        known = "".join(f"  {self._keys[a.name].public}: {self._account(a)}\n" for a in preloaded)
        return (
            f"operator: {operator}\nsystem_account: {self._keys[SYSTEM.name].public}\nresolver: MEMORY\nresolver_preload: {{\n{known}}}\n"
            f'tls {{ cert_file: "{self._certificate}", key_file: "{self._private}" }}\n'
        )

    def _account(self, account: Account) -> str:
        storage = STORAGE if account.streams else {}
        exports = [
            {"name": o.subject, "subject": o.subject, "type": "service", "response_type": "Stream", "token_req": True}
            for o in account.offers
        ]
        claims = {
            "type": "account",
            "version": 2,
            "limits": {**LIMITS, "wildcards": True, **storage},
            "exports": exports,
            "imports": [self._import(account, use) for use in account.uses],
        }
        return self._key.issue(self._keys[account.name].public, account.name, claims)

    def _import(self, account: Account, use: Use) -> dict[str, Any]:
        """The import, with the exporting account's own signature that this account may."""
        exporter = self._keys[use.account]
        activation = {"type": "activation", "version": 2, "subject": use.subject, "kind": "service"}
        local, wildcards = use.local, 0
        while "*" in local:
            wildcards += 1
            local = local.replace("*", f"${wildcards}", 1)
        return {
            "name": use.subject,
            "subject": use.subject,
            "account": exporter.public,
            "token": exporter.issue(self._keys[account.name].public, use.subject, activation),
            "local_subject": local,
            "type": "service",
        }

    def _write_creds(self, name: str, grant: Grant | None) -> None:
        user = Key(nkeys.PREFIX_BYTE_USER)
        claims: dict[str, Any] = {"type": "user", "version": 2, "subs": NO_LIMIT, "data": NO_LIMIT, "payload": NO_LIMIT}
        if grant is not None:
            claims |= {"pub": {"allow": list(grant.publish)}, "sub": {"allow": list(grant.subscribe)}}
            if grant.answers:
                claims["resp"] = {"max": 1000, "ttl": 300_000_000_000}
        account = self._keys[grant.account if grant is not None else BUS_ACCOUNT]
        token = account.issue(user.public, name, claims)
        self.creds(name).write_text(
            f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n"
        )
        self.creds(name).chmod(0o600)


def _certificate(directory: Path) -> tuple[Path, Path, Path]:
    """A certificate for 127.0.0.1 that is its own authority: authority, certificate and key."""
    certificate, private = directory / "server.pem", directory / "server.key"
    made = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj {SUBJECT} -addext {HOST}"
    subprocess.run(
        ["openssl", *made.split(), "-keyout", str(private), "-out", str(certificate)], check=True, capture_output=True
    )
    return certificate, certificate, private
