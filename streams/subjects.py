"""The only place that spells a subject. Every token is checked before it becomes a part of one.

dispatch.job.<tenant>.<job>                             events of one job; job `_controls`: of a tenant
dispatch.command.<tenant>.<actor>.<verb>.<job>          what services publish
dispatch.receipt.<tenant>.<command>                     what became of a command
dispatch.wake.<tenant>.<job>                            a reason to look at a job
dispatch.timer.set|due.<tenant>.<job>                   a wake-up that waits for its time; one that is due
dispatch.shard.<n>.wake|command.…                       how the last three are stored, by shard
dispatch.agent.<cluster>.<method>                       calls, by request and reply
"""

from __future__ import annotations

import re

import msgspec

from streams.messages.commands import VERBS
from streams.messages.values import TOKEN_PATTERN

CONTROLS = "_controls"
EVERY_COMMAND = "dispatch.command.*.*.*.*"
EVERY_RECEIPT = "dispatch.receipt.*.*"
EVERY_WAKE = "dispatch.wake.*.*"
EVERY_TIMER = "dispatch.timer.*.*.*"
EVERY_SET_TIMER = "dispatch.timer.set.*.*"
EVERY_DUE_TIMER = "dispatch.timer.due.*.*"

_TOKEN = re.compile(TOKEN_PATTERN)
_ANY_JOB = re.compile(r"dispatch\.job\.([^\s.*>]+\.[^\s.*>]+)\Z")
_KEY = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63}){0,3}\Z")


class CommandAddress(msgspec.Struct, frozen=True, kw_only=True):
    """What a command's subject says. Only `verb` may be a word that is not ours."""

    tenant: str
    actor: str
    verb: str
    job: str


def is_token(text: str) -> bool:
    """Whether `text` may be a name: a tenant, job, actor, cluster, command or replica."""
    return _TOKEN.match(text) is not None


def check_token(text: str, what: str) -> str:
    """`text` itself; ValueError with one clear sentence if it may not be a name."""
    if not is_token(text):
        raise ValueError(f"{what} {text[:80]!r} must be 1 to 63 of a-z, 0-9 and -, and begin and end with a-z or 0-9")
    return text


def check_job(text: str) -> str:
    """A job's token, or the controls' own."""
    return text if text == CONTROLS else check_token(text, "job")


def check_key(text: str) -> str:
    """A bucket's key, such as `<tenant>.<job>`; ValueError if it may not be one."""
    if not _KEY.match(text):
        raise ValueError(f"key {text[:200]!r} must be up to four words of a-z, 0-9, - and _, with dots between")
    return text


def job(tenant: str, name: str) -> str:
    return f"dispatch.job.{check_token(tenant, 'tenant')}.{check_job(name)}"


def jobs(tenant: str | None = None) -> str:
    """The filter over one tenant's histories, or all of them."""
    return f"dispatch.job.{check_token(tenant, 'tenant') if tenant else '*'}.*"


def of_tenant(subject: str, tenant: str | None) -> bool:
    """Whether an event's subject is of `tenant`; None is any."""
    return tenant is None or subject.startswith(f"dispatch.job.{tenant}.")


def command(tenant: str, actor: str, verb: str, name: str) -> str:
    """Where a command is published; the actor is whoever the credentials let publish there."""
    if verb not in VERBS:
        raise ValueError(f"verb {verb[:80]!r} must be one of {', '.join(VERBS)}")
    return f"dispatch.command.{check_token(tenant, 'tenant')}.{check_token(actor, 'actor')}.{verb}.{check_job(name)}"


def receipt(tenant: str, command_id: str) -> str:
    return f"dispatch.receipt.{check_token(tenant, 'tenant')}.{check_token(command_id, 'command')}"


def receipts(tenant: str) -> str:
    """The filter over one tenant's receipts."""
    return f"dispatch.receipt.{check_token(tenant, 'tenant')}.*"


def wake(tenant: str, name: str) -> str:
    return f"dispatch.wake.{check_token(tenant, 'tenant')}.{check_job(name)}"


def timer(tenant: str, name: str) -> str:
    """Where the job's one timer is set."""
    return f"dispatch.timer.set.{check_token(tenant, 'tenant')}.{check_job(name)}"


def due_timer(tenant: str, name: str) -> str:
    """Where the job's timer arrives when it is due."""
    return f"dispatch.timer.due.{check_token(tenant, 'tenant')}.{check_job(name)}"


def agent(cluster: str, method: str) -> str:
    """Where an agent answers calls for its cluster, by request and reply."""
    return f"dispatch.agent.{check_token(cluster, 'cluster')}.{check_token(method, 'method')}"


def agents(cluster: str) -> str:
    """Every call of one cluster's agent."""
    return f"dispatch.agent.{check_token(cluster, 'cluster')}.*"


def shard_of(tenant: str, name: str, shards: int) -> int:
    """The shard of a job: the server's own `partition` function over tenant and job (FNV-1a, 32 bits)."""
    digest = 0x811C9DC5
    for byte in (check_token(tenant, "tenant") + check_job(name)).encode():
        digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
    return digest % shards


def shard_filter(shard: int, word: str) -> str:
    """Everything one shard stores of a kind: `command` or `wake`."""
    return f"dispatch.shard.{shard}.{word}.>"


def commands_by_shard(shards: int) -> str:
    """How the server places a command: the destination of a transform of `EVERY_COMMAND`."""
    placed = "command.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}.{{wildcard(4)}}"
    return f"dispatch.shard.{{{{partition({shards},1,4)}}}}.{placed}"


def wakes_by_shard(shards: int) -> str:
    """How the server places a wake-up: of a transform of `EVERY_WAKE`, and of `EVERY_DUE_TIMER`."""
    return f"dispatch.shard.{{{{partition({shards},1,2)}}}}.wake.{{{{wildcard(1)}}}}.{{{{wildcard(2)}}}}"


def retired(generation: int) -> str:
    """Where a history listens that another generation replaced: nobody publishes there."""
    return f"dispatch.retired.{generation}"


def loading(generation: int) -> str:
    """The filter over where an export is published, for a new generation to store it under its own subjects."""
    return f"dispatch.load.{generation}.*.*"


def loading_of(subject: str, generation: int) -> str | None:
    """Where an export's message of `subject` is published; None if no job can have such a subject.

    Names are not judged: what a history held is restored, and then quarantined as it was.
    """
    found = _ANY_JOB.match(subject)
    return f"dispatch.load.{generation}.{found.group(1)}" if found else None


def loaded() -> str:
    """How the server places what is loaded: the destination of a transform of `loading`."""
    return "dispatch.job.{{wildcard(1)}}.{{wildcard(2)}}"


def gap(generation: int) -> str:
    """What fills the place of a revision that an export lacks, until it is purged."""
    return f"dispatch.gap.{generation}"


def out_of_shard(stored: str) -> str:
    """The subject that was published, from the one under which a work queue stores it; itself if it has no place."""
    return "dispatch." + stored.split(".", 3)[-1] if stored.startswith("dispatch.shard.") else stored


def parse_job(subject: str) -> tuple[str, str]:
    """Tenant and job of an event's subject. Raises ValueError with one clear sentence."""
    tenant, name = _tokens(subject, "dispatch.job.", 2)
    return check_token(tenant, "tenant"), check_job(name)


def parse_command(subject: str) -> CommandAddress:
    """What a command's subject says; the verb is not judged. Raises ValueError with one clear sentence."""
    tenant, actor, verb, name = _tokens(subject, "dispatch.command.", 4)
    return CommandAddress(
        tenant=check_token(tenant, "tenant"), actor=check_token(actor, "actor"), verb=verb, job=check_job(name)
    )


def _tokens(subject: str, prefix: str, count: int) -> list[str]:
    tokens = subject.removeprefix(prefix).split(".")
    if not subject.startswith(prefix) or len(tokens) != count:
        raise ValueError(f"subject {subject[:200]!r} is not {prefix} and {count} names")
    return tokens
