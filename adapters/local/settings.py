"""What the host of one directory goes by, kept beside its objects so that every caller finds the same."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Annotated

import msgspec

from adapters.clock import BOOT_ID
from adapters.files import read_or_none, write_whole
from streams.messages.values import Token, Value

SETTINGS = "settings.json"
MACHINE_ID = Path("/etc/machine-id")
SLOTS_MIN, DAY_S = 4, 86400.0


class LocalSettings(Value, frozen=True, kw_only=True):
    """`slots`: how many ranks run at once. `base_dir`: what a relative `workdir` starts from.

    `boot_id_path`: where this machine's boot id is read. `machine`: whose directory it is; empty if it has no id.
    `host`: this directory's own name among all, for the marks of its processes. `idle_s`: how long the daemon stays without a caller and without an object alive. `keep_ended_s`: how long an
    ended object stays in sight.
    """

    cluster: Token
    base_dir: str
    slots: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    boot_id_path: str = str(BOOT_ID)
    machine: str = ""
    host: str = ""
    idle_s: float = 60.0
    keep_ended_s: float = 90 * DAY_S


def read_settings(state_dir: Path) -> LocalSettings | None:
    """Raises msgspec.ValidationError or msgspec.DecodeError, with the field's name, if they cannot be read."""
    data = read_or_none(state_dir / SETTINGS)
    return msgspec.json.decode(data, type=LocalSettings) if data is not None else None


def settle_settings(state_dir: Path, *, cluster: str, slots: int | None, base_dir: Path | None) -> LocalSettings:
    """The directory's settings: what is given wins over what is there; what is neither gets a default, once.

    Raises ValueError if the directory belongs to another cluster, or to another machine: there, a new boot id would
    prove nothing.
    """
    there = read_settings(state_dir)
    machine = this_machine()
    if there is None:
        settings = LocalSettings(
            cluster=cluster,
            base_dir=str((base_dir or Path.cwd()).resolve()),
            slots=slots or max(len(os.sched_getaffinity(0)), SLOTS_MIN),
            machine=machine,
            host=secrets.token_hex(4),
        )
    else:
        if there.cluster != cluster:
            raise ValueError(f"{state_dir} holds the objects of cluster {there.cluster}, not of {cluster}")
        if there.machine and machine and there.machine != machine:
            raise ValueError(
                f"{state_dir} holds the processes of another machine; give this one a directory of its own"
            )
        settings = msgspec.structs.replace(
            there,
            base_dir=str(base_dir.resolve()) if base_dir else there.base_dir,
            slots=slots or there.slots,
        )
    if settings != there:
        write_whole(state_dir / SETTINGS, msgspec.json.encode(settings))
    return settings


def this_machine() -> str:
    """This machine's id, the same after a reboot; empty where there is none, as in most containers."""
    with contextlib.suppress(OSError):
        return MACHINE_ID.read_text(encoding="ascii").strip()
    return ""
