"""Who may do what on the bus: NATS permissions of each role, as data and as server configuration.

Within one account, publish permissions do not protect a history: whoever may send any request can name a job's
subject as the place for its answer, and the server stores the answer there (measured). So services, auditors and
agents live in accounts of their own and import the few subjects they need; only supervisors share the account that
holds the streams. What a role may do is a list of subjects; what it may not is everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from streams import subjects
from streams.jetstream.layout import IMPORTED_API, OWN_API
from streams.messages.commands import VERBS

BUS_ACCOUNT = "DISPATCH"
READ_METHODS = ("inspect", "read-output", "capabilities")

_NAMES = "$JS.API.STREAM.NAMES"
_INFO = "$JS.API.STREAM.INFO.*"
_GETS = ("$JS.API.DIRECT.GET.*", "$JS.API.DIRECT.GET.*.>")
_READING = (_NAMES, _INFO, *_GETS)
_AGENTS = "dispatch.agent.*.*"
_OFFERED = (subjects.EVERY_COMMAND, subjects.EVERY_WAKE, _NAMES, _INFO, "$JS.API.DIRECT.GET.>", _AGENTS)


class Role(StrEnum):
    """The four kinds of users a bus has, its admin apart."""

    SERVICE = "service"
    SUPERVISOR = "supervisor"
    AUDITOR = "auditor"
    AGENT = "agent"


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What one user may do. `imports`: what its account takes from the one with the streams."""

    role: Role
    account: str
    inbox_prefix: str
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    imports: tuple[str, ...] = ()
    answers: bool = False


def service(tenant: str, actor: str, *, reads: bool = True) -> Grant:
    """Publishes commands of one tenant as one actor, and reads its receipts.

    With `reads` it also sees histories and status, as the command line needs: of every tenant, since a request
    for a batch names what it wants in its body, where no permission reaches. Without, it learns of its own receipts.
    """
    commands = tuple(f"dispatch.command.{_tenant(tenant)}.{_name(actor)}.{verb}.*" for verb in VERBS)
    receipts = f"$JS.API.DIRECT.GET.DISPATCH_RECEIPTS.{subjects.receipts(tenant)}"
    reading = (*_READING, *(f"dispatch.agent.*.{method}" for method in READ_METHODS)) if reads else (receipts,)
    return Grant(
        role=Role.SERVICE,
        account=f"DISPATCH-SERVICES-{tenant}",
        inbox_prefix=f"_INBOX_{actor}",
        imports=(f"dispatch.command.{tenant}.*.*.*", *reading),
        publish=(*commands, *map(imported, reading)),
        subscribe=(f"_INBOX_{actor}.>",),
    )


def supervisor(name: str) -> Grant:
    """Appends and reads events, takes commands and wake-ups, writes receipts, status and heartbeats, calls agents.

    Not: making, changing, purging or deleting a stream or a durable consumer, or publishing a command.
    """
    return Grant(
        role=Role.SUPERVISOR,
        account=BUS_ACCOUNT,
        inbox_prefix=f"_INBOX_{_name(name)}",
        publish=(
            subjects.jobs(),
            subjects.EVERY_RECEIPT,
            subjects.EVERY_WAKE,
            subjects.EVERY_SET_TIMER,
            "$KV.*.>",  # the status bucket's generation stands inside its token, where no wildcard reaches
            _NAMES,
            _INFO,
            *_GETS,
            "$JS.API.STREAM.MSG.GET.*",
            "$JS.API.CONSUMER.INFO.*.*",
            f"$JS.API.CONSUMER.CREATE.*.*.{subjects.jobs()}",
            "$JS.API.CONSUMER.MSG.NEXT.DISPATCH_COMMANDS.*",
            "$JS.API.CONSUMER.MSG.NEXT.DISPATCH_WAKE.*",
            "$JS.ACK.DISPATCH_COMMANDS.>",
            "$JS.ACK.DISPATCH_WAKE.>",
            "$JS.FC.>",
            _AGENTS,
        ),
        subscribe=(f"_INBOX_{name}.>",),
    )


def auditor(name: str) -> Grant:
    """Reads every history, status and receipt, and changes nothing."""
    return Grant(
        role=Role.AUDITOR,
        account="DISPATCH-AUDITORS",
        inbox_prefix=f"_INBOX_{_name(name)}",
        imports=_READING,
        publish=tuple(map(imported, _READING)),
        subscribe=(f"_INBOX_{name}.>",),
    )


def agent(cluster: str) -> Grant:
    """Answers calls for one cluster and wakes jobs. It neither reads nor writes a history.

    Of what it answers it may ask itself one thing, what the cluster can do: its health check.
    """
    return Grant(
        role=Role.AGENT,
        account=f"DISPATCH-AGENT-{_name(cluster)}",
        inbox_prefix=f"_INBOX_agent-{cluster}",
        imports=(subjects.EVERY_WAKE, _NAMES, _INFO),
        publish=(subjects.EVERY_WAKE, imported(_NAMES), imported(_INFO), subjects.agent(cluster, "capabilities")),
        subscribe=(subjects.agents(cluster), f"_INBOX_agent-{cluster}.>"),
        answers=True,
    )


def imported(subject: str) -> str:
    """Where an account finds a method that it imports: under its own name JetStream would answer for that account."""
    return subject.replace(OWN_API, IMPORTED_API, 1)


def permissions_of(role: str, tenant: str, *, name: str = "name") -> str:
    """Server configuration for one user of a role: `name` is the actor, replica, auditor or cluster.

    `ADMIN_NKEY` and `NKEY` stand for the public keys, to be replaced. Raises ValueError for a role or name that is
    none.
    """
    grants = {
        Role.SERVICE: lambda: service(tenant, name),
        Role.SUPERVISOR: lambda: supervisor(name),
        Role.AUDITOR: lambda: auditor(name),
        Role.AGENT: lambda: agent(name),
    }
    head = f"# A {Role(role)} named {name}. Replace the name, ADMIN_NKEY (who runs dispatch setup) and NKEY.\n"
    return head + server_accounts([(grants[Role(role)](), "nkey: NKEY")])


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A service that one account exports to some others alone."""

    subject: str
    to: tuple[str, ...]


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """A service that one account imports from another; found there under `local`."""

    account: str
    subject: str
    local: str


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """One account of the server, its users' grants apart. `streams`: JetStream is on, and everything is kept here."""

    name: str
    offers: tuple[Offer, ...]
    uses: tuple[Use, ...]
    streams: bool = False


def accounts_of(grants: Sequence[Grant]) -> tuple[Account, ...]:
    """The accounts that these users need, the one with the streams first."""
    others = tuple(sorted({grant.account for grant in grants} - {BUS_ACCOUNT}))
    agents = tuple(sorted({grant.account for grant in grants if grant.role is Role.AGENT}))
    calls = tuple(Use(account=name, subject=_calls_of(name), local=_calls_of(name)) for name in agents)
    offered = tuple(Offer(subject=subject, to=others) for subject in _OFFERED) if others else ()
    made = [Account(name=BUS_ACCOUNT, offers=offered, uses=calls, streams=True)]
    for name in others:
        wanted = _widest(subject for grant in grants if grant.account == name for subject in grant.imports)
        uses = tuple(Use(account=BUS_ACCOUNT, subject=subject, local=imported(subject)) for subject in wanted)
        served = (Offer(subject=_calls_of(name), to=(BUS_ACCOUNT,)),) if name in agents else ()
        made.append(Account(name=name, offers=served, uses=uses))
    return tuple(made)


def _widest(wanted: Iterable[str]) -> list[str]:
    """The subjects without those that another of them covers: an account imports no subject twice."""
    subjects_wanted = set(wanted)
    return sorted(s for s in subjects_wanted if not any(_covers(other, s) for other in subjects_wanted - {s}))


def _covers(wide: str, narrow: str) -> bool:
    """Whether every subject that `narrow` matches is one that `wide` matches."""
    wider, narrower = wide.split("."), narrow.split(".")
    for at, token in enumerate(wider):
        if token == ">":
            return len(narrower) > at
        if at >= len(narrower) or narrower[at] == ">" or token not in ("*", narrower[at]):
            return False
    return len(wider) == len(narrower)


def server_accounts(users: Sequence[tuple[Grant, str]], *, admin: str = "nkey: ADMIN_NKEY") -> str:
    """The `accounts` block of a server for these users; each comes with its credential, such as `nkey: U…`.

    The admin of the account with the streams makes them (`dispatch setup`); nobody else may.
    """
    blocks = []
    for account in accounts_of([grant for grant, _ in users]):
        inside = [_user(grant, key) for grant, key in users if grant.account == account.name]
        blocks.append(_block(account, [f"{{ {admin} }}", *inside] if account.streams else inside))
    return "accounts {\n" + "".join(blocks) + "}\n"


def _block(account: Account, users: Sequence[str]) -> str:
    exports, imports = map(_exported, account.offers), map(_import_of, account.uses)
    jetstream = "    jetstream: enabled\n" if account.streams else ""
    lists = (("users", list(users)), ("exports", list(exports)), ("imports", list(imports)))
    body = "".join(f"    {word}: [\n{_lines(items)}    ]\n" for word, items in lists if items)
    return f"  {_quoted(account.name)}: {{\n{jetstream}{body}  }}\n"


def _exported(offer: Offer) -> str:
    """A batch is many answers to one request: the response type must say so."""
    accounts = ", ".join(map(_quoted, offer.to))
    return f"{{ service: {_quoted(offer.subject)}, response_type: stream, accounts: [{accounts}] }}"


def _import_of(use: Use) -> str:
    to = f", to: {_quoted(use.local)}" if use.local != use.subject else ""
    account = use.account if use.account == BUS_ACCOUNT else _quoted(use.account)
    return f"{{ service: {{ account: {account}, subject: {_quoted(use.subject)} }}{to} }}"


def _lines(items: Sequence[str]) -> str:
    return "".join(f"      {item}\n" for item in items)


def _user(grant: Grant, credential: str) -> str:
    publish = ", ".join(map(_quoted, grant.publish))
    subscribe = ", ".join(map(_quoted, grant.subscribe))
    answers = ', allow_responses: { max: 1000, expires: "5m" }' if grant.answers else ""
    return (
        f"# {grant.role}, to connect with inbox prefix {grant.inbox_prefix}\n      "
        f"{{ {credential}, permissions: {{ publish: {{ allow: [{publish}] }}, "
        f"subscribe: {{ allow: [{subscribe}] }}{answers} }} }}"
    )


def _calls_of(account: str) -> str:
    return subjects.agents(account.removeprefix("DISPATCH-AGENT-"))


def _quoted(text: str) -> str:
    return f'"{text}"'


def _tenant(name: str) -> str:
    return subjects.check_token(name, "tenant")


def _name(name: str) -> str:
    return subjects.check_token(name, "name")
