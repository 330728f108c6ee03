"""What a person asks to run: `JobSpec`, the wire form of the job file.

Durations are seconds, sizes are bytes. `env` is public: it is in the history for ever; secrets go by
reference in `env_from`. At most `SPEC_BYTES_MAX` encoded.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from streams.messages.values import Note, Token, Value

SPEC_BYTES_MAX = 256 * 1024
SCRIPT_BYTES_MAX = 128 * 1024
ENV_NAMES_MAX = 256
RESERVED_PREFIX = "DISPATCH_"

LabelWord = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9-]{1,63}\Z")]
EnvName = Annotated[str, msgspec.Meta(pattern=r"^(?!DISPATCH_)[A-Za-z_][A-Za-z0-9_]{0,255}\Z")]
RunSeconds = Annotated[int, msgspec.Meta(ge=1, le=60 * 86400)]


class Unmatched(StrEnum):
    """What becomes of an attempt whose Start was never answered and never found."""

    MANUAL = "manual"
    GIVE_UP = "give-up"


class SignalName(StrEnum):
    """The signals that a job may be sent before its time limit."""

    USR1 = "USR1"
    USR2 = "USR2"
    INT = "INT"
    TERM = "TERM"
    HUP = "HUP"


class Resources(Value, frozen=True, kw_only=True):
    """What one node or rank needs; `memory_per_node` in bytes."""

    gpus_per_node: Annotated[int, msgspec.Meta(ge=0, le=64)] = 0
    cpus_per_rank: Annotated[int, msgspec.Meta(ge=1, le=512)] = 1
    memory_per_node: Annotated[int, msgspec.Meta(ge=1_000_000, le=64 * 10**12)] | None = None


class SignalBeforeLimit(Value, frozen=True, kw_only=True):
    """This signal, so many seconds before the time limit."""

    signal: SignalName
    before: Annotated[int, msgspec.Meta(ge=1, le=3600)]


class Run(Value, frozen=True, kw_only=True):
    """Exactly one of `command` and `script` (checked by the codec)."""

    command: tuple[str, ...] | None = None
    script: Annotated[str, msgspec.Meta(max_length=SCRIPT_BYTES_MAX)] | None = None
    image: str | None = None
    workdir: str = "."


class SecretRef(Value, frozen=True, kw_only=True):
    """An environment variable whose value is the cluster's secret: only its name is in the history."""

    name: EnvName
    secret: str
    key: str


class SlurmOptions(Value, frozen=True, kw_only=True):
    """What only Slurm understands."""

    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    reservation: str | None = None
    constraint: str | None = None
    gres: str | None = None
    licenses: str | None = None
    options: dict[str, str] = {}


class KubeflowOptions(Value, frozen=True, kw_only=True):
    """What only Kubeflow understands."""

    namespace: Token
    runtime: str
    mode: Annotated[str, msgspec.Meta(pattern=r"^(plain|kueue)\Z")] = "plain"
    queue: str | None = None
    priority_class: str | None = None
    node_selector: dict[str, str] = {}
    tolerations: tuple[dict[str, str], ...] = ()
    pod_fence: bool = True


class JobSpec(Value, frozen=True, kw_only=True):
    """One multi-node training job. The name is the subject's; the plan travels beside it."""

    cluster: Token
    run: Run
    labels: Annotated[dict[LabelWord, LabelWord], msgspec.Meta(max_length=16)] = {}
    nodes: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1
    ranks_per_node: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    resources: Resources = Resources()
    time_limit: RunSeconds | None = None
    start_within: RunSeconds | None = None
    signal_before_limit: SignalBeforeLimit | None = None
    stop_grace: Annotated[int, msgspec.Meta(ge=1, le=3600)] = 30
    env: Annotated[dict[EnvName, str], msgspec.Meta(max_length=ENV_NAMES_MAX)] = {}
    env_from: tuple[SecretRef, ...] = ()
    output: str | None = None
    attempts_max: Annotated[int, msgspec.Meta(ge=1, le=3)] = 3
    unmatched: Unmatched = Unmatched.GIVE_UP
    hold: Note | None = None
    slurm: SlurmOptions | None = None
    kubeflow: KubeflowOptions | None = None

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_per_node
