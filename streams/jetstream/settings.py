"""Where the bus is, who we are there, and how long we wait. Read once, frozen."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import msgspec

from streams.errors import SettingsError


class BusSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`creds`: a `.creds` file or one with an nkey seed. `tls_ca`: the authority to trust, if not the system's.

    `api_prefix`: where JetStream's methods are, such as `$JS.hub.API`; left off, it is found out.
    `monitoring_urls`: one address a server, such as `http://nats-1:8222`; needed by the start-up check.
    `regression_after_s`: how long a replicated history must look shorter than what was read from it before it
    counts as gone backwards; a leader that was replaced may give old answers for about ten seconds.
    """

    urls: tuple[str, ...]
    name: str = "dispatch"
    creds: Path | None = None
    tls_ca: Path | None = None
    inbox_prefix: str = "_INBOX"
    api_prefix: str = ""
    monitoring_urls: tuple[str, ...] = ()
    connect_within_s: float = 10.0
    request_within_s: float = 2.0
    read_within_s: float = 15.0
    append_within_s: float = 30.0
    publish_within_s: float = 15.0
    regression_after_s: float = 15.0
    receive_wait_s: float = 3.0

    @property
    def tls_only(self) -> bool:
        """Whether somebody asked for TLS: by an address, or by the authority to trust."""
        return self.tls_ca is not None or any(url.startswith(("tls://", "wss://")) for url in self.urls)


def credentials(settings: BusSettings) -> dict[str, Any]:
    """What nats-py's `connect` wants to know of us. Raises SettingsError, naming the file, if one cannot be read."""
    options: dict[str, Any] = {}
    try:
        if settings.creds is not None:
            seed = settings.creds.read_text().strip()
            if seed.startswith("-----"):
                options["user_credentials"] = str(settings.creds)
            else:
                options["nkeys_seed_str"] = seed
        if settings.tls_ca is not None:
            options["tls"] = ssl.create_default_context(cafile=str(settings.tls_ca))
    except (OSError, UnicodeDecodeError) as error:
        files = " and ".join(str(path) for path in (settings.creds, settings.tls_ca) if path is not None)
        raise SettingsError((f"{files}: cannot be read ({type(error).__name__})",)) from error
    return options
