"""What a runner is told of one run: who its ranks are, what they execute, where their output goes.

Written as plain JSON, because the runner starts with every run and reads it without a library.
"""

from __future__ import annotations

import os
import re
import socket
import stat
from pathlib import Path

from adapters.errors import RefusedError
from adapters.local.objects import SCRIPT, LocalObject, ObjectRecord
from adapters.local.settings import LocalSettings
from streams.messages.spec import JobSpec, SecretRef
from streams.messages.values import Value, epoch_of

LOGS, SECRETS, PLAN = "logs", "secrets", "plan"
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
PLACEHOLDERS = ("tenant", "job", "submission", "run", "epoch", "rank")
SECRET_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}\Z")


class RunPlan(Value, frozen=True, kw_only=True, omit_defaults=False):
    """`env` is the run's own; each rank gets its rank identity on top. Seconds end in `_s`."""

    mark: str
    boot: str
    node: str
    bell: str
    argv: tuple[str, ...]
    workdir: str
    env: dict[str, str]
    secrets: dict[str, str]
    outputs: tuple[str, ...]
    stop_grace_s: float
    time_limit_s: float | None
    signal: str | None
    signal_before_s: float
    memory_bytes: int | None


class Site:
    """Where a directory's runs are: its folders, this machine's name and boot."""

    def __init__(self, state_dir: Path, settings: LocalSettings, *, boot: str) -> None:
        self.state_dir = state_dir
        self.base_dir = Path(settings.base_dir)
        self.host = settings.host
        self.boot = boot
        self.node = os.uname().nodename

    def mark(self, one: LocalObject, run: int) -> str:
        """What every process of this run bears in its environment, and no other process anywhere."""
        return f"{self.host}.{one.record.tag.nonce}.{one.id}.{run}"

    @property
    def bell(self) -> Path:
        return self.state_dir / "bell"


def check_fits(spec: JobSpec, site: Site, *, slots: int) -> None:
    """Raises RefusedError, with what to change, if this host cannot run the job as it was asked for."""
    if spec.nodes != 1:
        raise RefusedError(f"local has one node: nodes is {spec.nodes}, must be 1 (use ranks_per_node)")
    if spec.ranks > slots:
        raise RefusedError(f"the job needs {spec.ranks} slots, this host has {slots}")
    if spec.run.image is not None:
        raise RefusedError("local runs no images: remove run.image")
    unknown = [name for name in PLACEHOLDER.findall(spec.output or "") if name not in PLACEHOLDERS]
    if unknown:
        raise RefusedError(f"output: {{{unknown[0]}}} is unknown; there are {', '.join(PLACEHOLDERS)}")
    for secret in spec.env_from:
        secret_path(secret, site)


def secret_path(secret: SecretRef, site: Site) -> Path:
    """The file that holds this secret. Raises RefusedError if it is not there for its owner alone."""
    if not (SECRET_PART.match(secret.secret) and SECRET_PART.match(secret.key)):
        raise RefusedError(f"env_from {secret.name}: secret and key must be plain file names")
    path = site.state_dir / SECRETS / secret.secret / secret.key
    where = f"env_from {secret.name}: local has no secret store; put the value into {SECRETS}/{secret.secret}/{secret.key} of its directory"
    try:
        mode = path.stat().st_mode
    except OSError:
        raise RefusedError(f"{where}, mode 0600") from None
    if not stat.S_ISREG(mode):
        raise RefusedError(f"{where}: what is there is no file")
    if mode & 0o077:
        raise RefusedError(f"{where}: it is there, but others may read it; set its mode to 0600")
    return path


def make_plan(one: LocalObject, run: int, site: Site) -> RunPlan:
    """The plan of this run, whole: a runner needs nothing else. Secrets stay where they are, by path."""
    spec = one.record.spec
    limit = spec.signal_before_limit
    workdir = str(site.base_dir / spec.run.workdir)
    argv = spec.run.command if spec.run.command is not None else ("/bin/sh", str(one.folder / SCRIPT))
    return RunPlan(
        mark=site.mark(one, run),
        boot=site.boot,
        node=site.node,
        bell=str(site.bell),
        argv=argv,
        workdir=workdir,
        env={"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), **spec.env, **identity(one.record, run)},
        secrets={secret.name: str(site.state_dir / SECRETS / secret.secret / secret.key) for secret in spec.env_from},
        outputs=tuple(str(output_path(one.record, run, rank, site)) for rank in range(spec.ranks)),
        stop_grace_s=spec.stop_grace,
        time_limit_s=spec.time_limit,
        signal=limit.signal if limit else None,
        signal_before_s=limit.before if limit else 0.0,
        memory_bytes=spec.resources.memory_per_node,
    )


def identity(record: ObjectRecord, run: int) -> dict[str, str]:
    """The execution's identity, and the world as torchrun's users expect it."""
    tag, ranks = record.tag, str(record.spec.ranks)
    return {
        "WORLD_SIZE": ranks,
        "LOCAL_WORLD_SIZE": ranks,
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "DISPATCH_TENANT": tag.tenant,
        "DISPATCH_JOB": tag.job,
        "DISPATCH_SUBMISSION": str(tag.submission),
        "DISPATCH_RUN": str(run),
        "DISPATCH_EPOCH": str(epoch_of(tag.submission, run)),
    }


def output_path(record: ObjectRecord, run: int, rank: int, site: Site) -> Path:
    """Where one rank's output goes: the job's template, from its working directory, or a file of ours."""
    tag = record.tag
    if record.spec.output is None:
        folder = site.state_dir / LOGS / record.id.partition(".")[0]
        return folder / f"{tag.submission}.{run}" / f"{rank}.log"
    words = {
        "tenant": tag.tenant,
        "job": tag.job,
        "submission": str(tag.submission),
        "run": str(run),
        "epoch": str(epoch_of(tag.submission, run)),
        "rank": str(rank),
    }
    filled = PLACEHOLDER.sub(lambda found: words[found[1]], record.spec.output)
    return site.base_dir / record.spec.run.workdir / filled


def free_port() -> int:
    """A port that nobody listens on now: rank 0's, for MASTER_PORT."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
