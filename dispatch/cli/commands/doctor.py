"""`dispatch doctor [bus|local]`: each line `ok`, `warn` or `FAIL`, with what to change."""

from __future__ import annotations

from dataclasses import dataclass, replace

import click

from dispatch.cli.columns import table
from dispatch.cli.exits import Exit
from dispatch.cli.params import command, option
from dispatch.cli.tool import Tool

PARTS = ("bus", "local")


@dataclass(frozen=True, slots=True)
class DoctorOptions:
    """What `doctor` takes."""

    part: str | None = option("--part", hidden=True)
    single: bool = option("--single", is_flag=True, help="a bus of one server is meant")
    monitoring: str | None = option("--monitoring", metavar="URL,…", help="HTTP addresses of the servers' monitors")
    probe: bool = option("--probe", is_flag=True, help="also make one gated object and stop it")
    print_fix: bool = option("--print-fix", is_flag=True, help="print the nats-server settings that are needed")


@command(DoctorOptions)
def doctor(tool: Tool, options: DoctorOptions) -> Exit:
    """Check the bus and the local cluster: settings, clocks, permissions. Exit 9 on a FAIL."""
    from dispatch.doctor import NEEDED_CONFIG, examine

    if options.print_fix:
        tool.screen.say(NEEDED_CONFIG)
        return Exit.DONE
    parts = (options.part,) if options.part else PARTS
    settings = tool.settings
    if options.monitoring and settings.address is not None:
        urls = tuple(url.strip() for url in options.monitoring.split(","))
        settings = replace(settings, address=replace(settings.address, monitoring=urls))
    findings = tool.run(examine(settings, parts, single=options.single, probe=options.probe))
    rows = [[each.level, each.part, each.what, f"do: {each.do}" if each.do else ""] for each in findings]
    tool.answer("doctor", {"findings": findings}, lambda: _painted(tool, table(rows, free=2, width=None)))
    return Exit.CHECK_FAILED if any(each.level == "FAIL" for each in findings) else Exit.DONE


def _painted(tool: Tool, lines: list[str]) -> list[str]:
    colours = {"FAIL": "red", "warn": "yellow", "ok": "green"}
    return [tool.screen.paint(line[:4], colours.get(line[:4].strip(), "")) + line[4:] for line in lines]


doctor.params[0] = click.Argument(["part"], required=False, type=click.Choice(PARTS), metavar="[bus|local]")
