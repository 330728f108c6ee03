"""`dispatch completion`: the script that teaches a shell our commands, jobs and contexts."""

from __future__ import annotations

from dataclasses import dataclass

import click
from click.shell_completion import get_completion_class

from dispatch.cli.exits import Exit
from dispatch.cli.params import command, option
from dispatch.cli.tool import Tool

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class CompletionOptions:
    """What `completion` takes."""

    shell: str = option("--shell", hidden=True)


@command(CompletionOptions)
def completion(tool: Tool, options: CompletionOptions) -> Exit:
    """Print the completion script of a shell: eval "$(dispatch completion bash)"."""
    from dispatch.cli.main import PROGRAM

    kind = get_completion_class(options.shell)
    assert kind is not None
    script = kind(PROGRAM, {}, "dispatch", "_DISPATCH_COMPLETE").source()
    tool.answer("completion", {"shell": options.shell, "script": script}, lambda: [script])
    return Exit.DONE


completion.params[0] = click.Argument(["shell"], type=click.Choice(SHELLS))
