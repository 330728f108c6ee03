"""The only place that spells a subject. Every token is checked before it becomes a part of one."""

from __future__ import annotations

import re

from streams.messages.commands import VERBS
from streams.messages.values import TOKEN_PATTERN

CONTROLS = "_controls"
WHOLE_TENANT = "*"

_TOKEN = re.compile(TOKEN_PATTERN)


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


def job(tenant: str, name: str) -> str:
    return f"dispatch.job.{check_token(tenant, 'tenant')}.{check_job(name)}"


def jobs(tenant: str | None = None) -> str:
    """The filter over one tenant's histories, or all of them."""
    return f"dispatch.job.{check_token(tenant, 'tenant') if tenant else '*'}.*"


def command(tenant: str, actor: str, verb: str, name: str) -> str:
    if verb not in VERBS:
        raise ValueError(f"verb {verb[:80]!r} must be one of {', '.join(VERBS)}")
    return f"dispatch.command.{check_token(tenant, 'tenant')}.{check_token(actor, 'actor')}.{verb}.{check_job(name)}"


def receipt(tenant: str, command_id: str) -> str:
    return f"dispatch.receipt.{check_token(tenant, 'tenant')}.{check_token(command_id, 'command')}"


def wake(tenant: str, name: str) -> str:
    return f"dispatch.wake.{check_token(tenant, 'tenant')}.{check_job(name)}"


def agent(cluster: str, method: str) -> str:
    """Where an agent answers calls for its cluster, by request and reply."""
    return f"dispatch.agent.{check_token(cluster, 'cluster')}.{check_token(method, 'method')}"
