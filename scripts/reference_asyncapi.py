"""The AsyncAPI 3 document of what services publish and read, made from the types and from the spelling of subjects.

Its schemas are the JSON Schemas beside it; addresses are those that `streams.subjects` makes and reads.
"""

from __future__ import annotations

import json
from typing import Any

from dispatch.identity import version
from streams import subjects
from streams.messages.commands import VERBS
from streams.messages.values import TOKEN_PATTERN

NAME = "asyncapi.json"
PATTERN = TOKEN_PATTERN.replace(r"\Z", "$")
CONTROL = "control"

PARAMETERS = {
    "tenant": "The tenant; the body must say the same.",
    "actor": "Who publishes: the credentials' permission to publish fixes it, and nothing in the body overrides it.",
    "job": "The job's name, used once in its tenant, for ever.",
    "command": "The command's own id, chosen by its sender; seq-<stream sequence> where the bytes held none.",
}


def document() -> dict[str, Any]:
    """The whole document, in a fixed order."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "dispatch",
            "version": version(),
            "description": (
                "Commands in, receipts and events out, as JSON over NATS JetStream. Names are "
                f"{PATTERN}; an unknown field is ignored, a field at its default may be left out."
            ),
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {**_commands(), "receipt": _receipt(), "history": _history(), "controls": _controls()},
        "operations": {
            **{verb: _publish(verb) for verb in VERBS},
            "readReceipt": _read("receipt", "Read the last message of the subject: what became of the command."),
            "followJob": _read(
                "history", "Consume the stream, never the bare subject: it also carries what was refused."
            ),
            "followControls": _read("controls", "As a job's history: the kill switch, the brake, observe mode."),
        },
        "components": {
            "messages": {
                "command": _message("command", "A command", "schemas/command.json"),
                "receipt": _message("receipt", "What became of a command", "schemas/receipt.json"),
                "event": _message("event", "One event of a job's history", "schemas/event.json"),
            },
            "parameters": {name: {"description": about} for name, about in PARAMETERS.items()},
        },
    }


def pages() -> dict[str, str]:
    """The document as a file of docs/reference."""
    return {NAME: json.dumps(document(), indent=1) + "\n"}


def address(verb: str) -> str:
    """Where commands of this verb are published."""
    made = subjects.command("tenant", "actor", verb, subjects.CONTROLS if verb == CONTROL else "job")
    return _templated(made)


def _templated(subject: str) -> str:
    """A subject made with the words tenant, actor, job and command, as a template of them."""
    return ".".join(
        f"{{{token}}}" if token in PARAMETERS and at > 1 else token for at, token in enumerate(subject.split("."))
    )


def _channel(at: str, message: str, about: str) -> dict[str, Any]:
    names = [name for name in PARAMETERS if f"{{{name}}}" in at]
    return {
        "address": at,
        "description": about,
        "messages": {message: {"$ref": f"#/components/messages/{message}"}},
        "parameters": {name: {"$ref": f"#/components/parameters/{name}"} for name in names},
    }


def _commands() -> dict[str, Any]:
    about = "A work queue of JetStream: the acknowledgement says that the command is stored. Send no Nats-Msg-Id."
    return {f"command-{verb}": _channel(address(verb), "command", about) for verb in VERBS}


def _receipt() -> dict[str, Any]:
    at = _templated(subjects.receipt("tenant", "command"))
    return _channel(at, "receipt", "The last message counts; it is written again as a cancel gets further.")


def _history() -> dict[str, Any]:
    return _channel(_templated(subjects.job("tenant", "job")), "event", "One job's events, in order, for ever.")


def _controls() -> dict[str, Any]:
    return _channel(_templated(subjects.job("tenant", subjects.CONTROLS)), "event", "A tenant's controls, in order.")


def _publish(verb: str) -> dict[str, Any]:
    return {
        "action": "send",
        "channel": {"$ref": f"#/channels/command-{verb}"},
        "summary": f"Publish a command with the verb {verb}.",
    }


def _read(channel: str, summary: str) -> dict[str, Any]:
    return {"action": "receive", "channel": {"$ref": f"#/channels/{channel}"}, "summary": summary}


def _message(name: str, title: str, schema: str) -> dict[str, Any]:
    return {"name": name, "title": title, "contentType": "application/json", "payload": {"$ref": schema}}
