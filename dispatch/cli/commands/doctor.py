"""`dispatch doctor [bus|CLUSTER|job FILE]`: each line `ok`, `warn` or `FAIL`, with what to change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dispatch.cli.columns import table
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import argument, command, option
from dispatch.cli.tool import Tool

if TYPE_CHECKING:
    from dispatch.findings import Finding

JOB = "job"


@dataclass(frozen=True, slots=True)
class DoctorOptions:
    """What `doctor` takes."""

    words: tuple[str, ...] = argument("[bus|CLUSTER|job FILE]", many=True, required=False)
    single: bool = option("--single", is_flag=True, help="a bus of one server is meant")
    monitoring: str | None = option("--monitoring", metavar="URL,…", help="HTTP addresses of the servers' monitors")
    probe: bool = option("--probe", is_flag=True, help="also make one gated object and stop it")
    print_fix: bool = option("--print-fix", is_flag=True, help="print the nats-server settings that are needed")


@command(DoctorOptions)
def doctor(tool: Tool, options: DoctorOptions) -> Exit:
    """Check the bus, a cluster (`local` is this machine's) or a job file: settings, clocks, rights. Exit 9 on a FAIL."""
    from dispatch.doctor import NEEDED_CONFIG

    if options.print_fix:
        tool.answer("doctor-fix", {"nats_server": NEEDED_CONFIG}, lambda: [NEEDED_CONFIG])
        return Exit.DONE
    findings = _found(tool, options)
    rows = [[each.level, each.part, each.what, f"do: {each.do}" if each.do else ""] for each in findings]
    tool.answer("doctor", {"findings": findings}, lambda: _painted(tool, table(rows, free=2, width=None)))
    return Exit.CHECK_FAILED if any(each.level == "FAIL" for each in findings) else Exit.DONE


def _found(tool: Tool, options: DoctorOptions) -> tuple[Finding, ...]:
    """The findings of what was named. Raises CliError for words that name nothing."""
    from dispatch.doctor import examine
    from streams.subjects import is_token

    words = options.words
    if words[:1] == (JOB,):
        from dispatch.cli.job_doctor import examine_job

        if len(words) != 2:
            raise CliError("doctor job takes one FILE", do="dispatch doctor job llama.yaml", code="bad-usage")
        return tool.run(examine_job(tool, words[1]))
    if unnamed := [word for word in words if not is_token(word)]:
        raise CliError(f"{unnamed[0][:70]!r} is neither bus nor a cluster's name", code="bad-usage")
    settings = tool.settings
    if options.monitoring and settings.address is not None:
        urls = tuple(url.strip() for url in options.monitoring.split(","))
        settings = replace(settings, address=replace(settings.address, monitoring=urls))
    if options.probe and settings.local_dir is not None:
        tool.screen.hint(f"{settings.where('local')}     make one gated object and stop it")
    return tool.run(examine(settings, words, single=options.single, probe=options.probe))


def _painted(tool: Tool, lines: list[str]) -> list[str]:
    colours = {"FAIL": "red", "warn": "yellow", "ok": "green"}
    return [tool.screen.paint(line[:4], colours.get(line[:4].strip(), "")) + line[4:] for line in lines]
