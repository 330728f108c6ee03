"""A bus of one's own: setup, supervisors and an agent as separate services, permissions, and a restore."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.jetstream.connect import connect
from streams.jetstream.settings import BusSettings
from tests.acceptance.conftest import Here, Type, line_with, until
from tests.servers.nats import NatsNode

QUICK = 'version: 1\nranks_per_node: 2\nrun: {command: [sh, -c, "echo step 1; echo step 2"]}\n'
ENDLESS = "version: 1\nstop_grace: 1s\nrun: {command: [sleep, '600']}\nrecovery: []\n"
HISTORY = Path(__file__).parents[1] / "histories"


def started(folder: Path, **given: str) -> NatsNode:
    node = NatsNode(folder, **given)
    asyncio.run(node.start())
    return node


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsNode]:
    node = started(tmp_path_factory.mktemp("bus"))
    yield node
    node.kill()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, node: NatsNode) -> Iterator[Here]:
    """A person's directory and config file: a context for that bus, and nothing that runs yet."""
    place = Here(tmp_path_factory.mktemp("here"))
    (place.folder / "config" / "dispatch").mkdir(parents=True)
    config = {
        "current": "lab",
        "contexts": {
            "lab": {"nats": [node.url], "tenant": "nlp", "cluster": "lab", "monitoring": [node.monitoring_url]},
            "guarded": {"nats": [node.url], "tenant": "nlp", "cluster": "lab", "protect": True},
        },
    }
    place.write("config/dispatch/config.yaml", json.dumps(config))
    yield place
    place.end()


@pytest.fixture(scope="module")
def served(here: Here) -> Here:
    """With streams, a supervisor and an agent."""
    setup = here.start("setup", "--replicas", "1", "--shards", "4", "--lease", "2s")
    assert setup.wait(60) == 0
    line_with(here.start("agent", "local", "--cluster", "lab", "--dir", "agent", "--slots", "4"), b"agent lab live on")
    here.start("supervise", "--single", "--name", "sv-a")
    return here


def test_setup_makes_what_is_missing_and_keeps_what_is_there(served: Here, dispatch: Type) -> None:
    again = dispatch("setup", "--replicas", "1", "--shards", "4", "--lease", "2s")
    assert again.code == 0
    assert "created" not in again.out
    assert re.search(r"kept DISPATCH_HISTORY_1.* as they are", again.out)


def test_setup_tells_what_differs_and_changes_nothing(served: Here, dispatch: Type) -> None:
    other = dispatch("setup", "--replicas", "1", "--shards", "8", "--lease", "2s")
    assert other.code == 6
    assert "unsafe-settings (exit 6)" in other.err


def test_a_job_runs_through_an_agent_and_its_output_comes_back(served: Here, dispatch: Type) -> None:
    told = dispatch("submit", served.write("quick.yaml", QUICK), "--name", "quick", "--wait", "--timeout", "60s")
    assert told.code == 0, told.out + told.err
    assert "lab · nlp @ lab     submit quick" in told.err
    assert [line.split("  ")[1] for line in dispatch("logs", "quick").lines[1:]] == ["step 1", "step 2"] * 2
    live = dispatch("status", "quick", "--live")
    assert "nlp @ lab (local)" in live.lines[0]


def test_the_version_names_replicas_agents_and_the_bus(served: Here, dispatch: Type) -> None:
    told = until(dispatch, ("version",), lambda told: "agent" in told.out)
    assert re.match(r"dispatch (\S+) · schema 1 · sv-a \1 · agent lab \1 · bus 2\.\d+\.\d+$", told.lines[0])


def test_a_replica_that_was_killed_is_missed_and_one_that_drained_is_not(served: Here, dispatch: Type) -> None:
    killed, drained = (served.start("supervise", "--single", "--name", name) for name in ("sv-k", "sv-d"))
    until(dispatch, ("status",), lambda told: "sv-k live" in told.out and "sv-d live" in told.out)
    killed.kill()
    drained.terminate()
    assert drained.wait(60) == 0
    told = until(dispatch, ("status",), lambda told: "sv-k dead" in told.out)
    assert re.search(r"^REPLICAS  sv-k dead \d+s · sv-a live, \S+ ago · 0 jobs unattended$", told.out, re.MULTILINE)


def test_a_dry_run_asks_the_cluster_what_it_can_do(served: Here, dispatch: Type) -> None:
    told = dispatch("submit", served.write("dry.yaml", QUICK), "--name", "dry", "--dry-run")
    assert (told.code, told.lines[-1]) == (0, "  would be accepted as its first event")
    assert told.lines[0].startswith("plan: dry on lab (local)")
    unknown = dispatch("submit", "dry.yaml", "--name", "dry", "--cluster", "nowhere", "--dry-run")
    assert "note     nowhere was not asked: no agent answers from here" in unknown.out


def test_a_cluster_that_nobody_serves_is_refused(served: Here, dispatch: Type) -> None:
    told = dispatch(
        "submit", served.write("far.yaml", QUICK), "--name", "far", "--cluster", "nowhere", "--timeout", "60s"
    )
    assert (told.code, "unknown-cluster (exit 4)" in told.err) == (4, True)


def test_a_protected_context_wants_the_name_typed_and_prints_where(served: Here, dispatch: Type) -> None:
    assert dispatch("submit", served.write("guard.yaml", ENDLESS), "--name", "guard").code == 0
    words = ("--context", "guarded", "cancel", "guard", "--reason", "x")
    asked = dispatch(*words, "--yes")
    assert (asked.code, "the name has to be typed" in asked.err) == (2, True)
    assert "guarded · nlp @ lab     cancel guard" in asked.err
    assert dispatch(*words, "--confirm", "guard", "--wait", "--timeout", "60s").code == 0


def test_contexts_are_listed_used_and_shown_with_their_sources(
    served: Here, dispatch: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert re.search(r"^\* +lab +nlp +lab +no +nats://", dispatch("context", "list").out, re.MULTILINE)
    monkeypatch.setenv("DISPATCH_DEFAULT_TENANT", "vision")
    shown = dispatch("context", "show").out
    assert re.search(r"^tenant +vision +from DISPATCH_DEFAULT_TENANT \(context lab says nlp\)$", shown, re.MULTILINE)
    assert dispatch("context", "use", "nobody").code == 2


def test_the_doctor_of_a_production_bus_says_that_one_server_is_too_few(served: Here, dispatch: Type) -> None:
    told = dispatch("doctor", "bus")
    assert told.code == 9
    assert re.search(r"^FAIL  bus +servers: there are 1, must be 3 or more", told.out, re.MULTILINE)
    assert dispatch("doctor", "bus", "--single").code == 0


def test_a_supervisor_refuses_to_start_on_a_bus_that_is_not_safe(served: Here) -> None:
    refused = served.start("supervise", "--name", "sv-b")
    assert refused.wait(60) == 6


def test_permissions_of_every_role_are_printed(served: Here, dispatch: Type) -> None:
    for role in ("service", "supervisor", "agent", "auditor"):
        told = dispatch("setup", "--print-permissions", role)
        assert told.code == 0
        assert "publish: { allow: [" in told.out


def test_a_broken_history_is_exit_9_and_names_the_law(served: Here, dispatch: Type) -> None:
    broken = next((HISTORY / "broken").glob("l7-*.jsonl"))
    told = dispatch("verify", "--file", str(broken))
    assert told.code == 9
    assert re.search(r"BROKEN L7  #\d+ ", told.out)


async def installation_of(url: str) -> str:
    bus = await connect(BusSettings(urls=(url,)))
    try:
        return bus.layout.installation
    finally:
        await bus.close()


def test_a_whole_export_is_restored_as_a_new_generation_of_the_same_installation(
    served: Here, dispatch: Type, node: NatsNode, tmp_path: Path
) -> None:
    whole = str(tmp_path / "whole.jsonl")
    assert dispatch("export", "--all", "--every-tenant", "--output", whole).code == 0
    part = str(tmp_path / "part.jsonl")
    assert dispatch("export", "quick", "--output", part).code == 0
    other = started(tmp_path / "other")
    try:
        at = ("--nats", other.url)
        assert dispatch("setup", "--new-generation", "--from", part, "--replicas", "1", "--yes", *at).code == 2
        told = dispatch("setup", "--new-generation", "--from", whole, "--replicas", "1", "--yes", *at)
        assert told.code == 0, told.err
        # Above the one that was lost, so that its writers are refused; its objects are found under the same names.
        assert re.match(r"restored \d+ messages up to r\d+ as generation 2$", told.lines[0])
        assert asyncio.run(installation_of(other.url)) == asyncio.run(installation_of(node.url))
        assert dispatch("history", "quick", *at).out == dispatch("history", "quick").out
        assert dispatch("verify", "--all", *at).code == 0
    finally:
        other.kill()


def test_an_export_is_not_restored_onto_a_bus_that_was_set_up_as_another_installation(
    served: Here, dispatch: Type, tmp_path: Path
) -> None:
    whole = str(tmp_path / "whole.jsonl")
    assert dispatch("export", "--all", "--every-tenant", "--output", whole).code == 0
    other = started(tmp_path / "other")
    try:
        at = ("--nats", other.url)
        assert dispatch("setup", "--replicas", "1", *at).code == 0
        before = asyncio.run(installation_of(other.url))
        told = dispatch("setup", "--new-generation", "--from", whole, "--replicas", "1", "--yes", *at)
        assert (told.code, "a second run could begin" in told.err) == (6, True), told.err
        assert asyncio.run(installation_of(other.url)) == before
    finally:
        other.kill()


def test_credentials_without_the_right_are_exit_5(served: Here, dispatch: Type, tmp_path: Path) -> None:
    locked = started(tmp_path / "locked", more="authorization { user: a, password: b }")
    try:
        told = dispatch("list", "--nats", locked.url, "--timeout", "3s")
    finally:
        locked.kill()
    assert (told.code, "not-permitted (exit 5)" in told.err) == (5, True), told.err


def test_credentials_that_others_may_read_are_refused(served: Here, dispatch: Type, tmp_path: Path) -> None:
    creds = tmp_path / "a.creds"
    creds.write_text("x")
    creds.chmod(0o644)
    told = dispatch("list", "--nats", "nats://127.0.0.1:9", "--creds", str(creds))
    assert (told.code, "open-credentials (exit 5)" in told.err) == (5, True)


def test_a_bus_without_streams_is_told_as_such(served: Here, dispatch: Type, tmp_path: Path) -> None:
    bare = started(tmp_path / "bare")
    try:
        told = dispatch("list", "--nats", bare.url)
    finally:
        bare.kill()
    assert (told.code, "run dispatch setup" in told.err) == (6, True)


def test_without_a_supervisor_a_command_is_stored_and_takes_effect_when_one_starts(
    served: Here, dispatch: Type, tmp_path: Path
) -> None:
    alone = started(tmp_path / "alone")
    try:
        at = ("--nats", alone.url)
        assert dispatch("setup", "--replicas", "1", "--shards", "2", "--lease", "1s", *at).code == 0
        told = dispatch("cancel", "later", "--if-unknown", "record", "--reason", "x", "-y", "--timeout", "1s", *at)
        assert told.code == 7
        assert "stored; no supervisor is live: nothing is decided until one starts" in told.out
        command = re.search(r"--command-id (c-\w+)", told.out)
        assert command is not None
        assert "1 command waits on the bus" in dispatch("list", *at).out
        late = served.start("supervise", "--single", "--name", "sv-late", "--monitoring", alone.monitoring_url, *at)
        again = ("cancel", "later", "--if-unknown", "record", "--reason", "x", "-y", "--command-id", command[1])
        repeated = dispatch(*again, "--timeout", "60s", *at)
        assert repeated.code == 0, repeated.err
        assert dispatch("status", "later", *at).lines[0].startswith("later  CANCELL")
        late.terminate()
        assert late.wait(30) == 0
    finally:
        alone.kill()
