"""Settings: first found wins, URL and credentials from one place together, every value with its source."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path

import pytest

from dispatch.cli.session import bus_settings
from dispatch.config import ConfigError, Flags, Settings, resolve
from dispatch.contexts import contexts_path, read_contexts, set_current

PROD = """\
current: prod
contexts:
  prod: {nats: [tls://nats-1.example:4222], creds: prod.creds, tenant: vision, cluster: hpc2, protect: true}
  lab:
    nats: [nats://a:4222, nats://b:4222]
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "dispatch").mkdir()
    (tmp_path / "dispatch" / "config.yaml").write_text(PROD, encoding="utf-8")
    return tmp_path


def settings(home: Path, *, flags: Flags | None = None, here: Path | None = None, **environ: str) -> Settings:
    return resolve(flags or Flags(), {"XDG_CONFIG_HOME": str(home), "USER": "ana", **environ}, here or home)


def bus_of(found: Settings) -> tuple[tuple[str, ...], Path | None]:
    assert found.address is not None
    return found.address.urls, found.address.creds


def up(folder: Path, pid: int | None = None) -> None:
    (folder / ".dispatch").mkdir(parents=True)
    told = {"nats": ["nats://127.0.0.1:7"], "tenant": "main", "cluster": "local", "pid": pid or os.getpid()}
    (folder / ".dispatch" / "up.json").write_text(json.dumps(told), encoding="utf-8")


def test_the_current_context_is_used_when_nothing_else_is_said(home: Path) -> None:
    found = settings(home)
    assert bus_of(found) == (("tls://nats-1.example:4222",), home / "dispatch" / "prod.creds")
    assert (found.tenant.value, found.cluster.value, found.protect) == ("vision", "hpc2", True)
    assert found.where() == "prod · vision @ hpc2"


def test_a_flag_wins_over_the_environment_and_that_over_the_context(home: Path) -> None:
    by_env = settings(home, DISPATCH_DEFAULT_TENANT="nlp")
    assert (by_env.tenant.value, by_env.tenant.source) == ("nlp", "DISPATCH_DEFAULT_TENANT")
    assert by_env.tenant.others == ("context prod says vision",)
    by_flag = settings(home, flags=Flags(tenant="ops"), DISPATCH_DEFAULT_TENANT="nlp")
    assert (by_flag.tenant.value, by_flag.tenant.source) == ("ops", "--tenant")


def test_a_url_by_flag_drops_the_contexts_credentials(home: Path) -> None:
    found = settings(home, flags=Flags(nats="nats://other:4222"))
    assert (bus_of(found), found.bus_source) == ((("nats://other:4222",), None), "--nats")
    assert found.tenant.value == "vision"
    assert found.protect


def test_where_it_acts_names_a_context_only_if_the_address_is_from_it(home: Path) -> None:
    by_flag = settings(home, flags=Flags(nats="nats://ana:hunter2@other:4222"))
    assert by_flag.where() == "--nats other:4222 · vision @ hpc2"
    by_env = settings(home, DISPATCH_NATS_URL="nats://other:4222,third:4222", DISPATCH_CONTEXT="lab")
    assert by_env.bus_name() == "DISPATCH_NATS_URL other:4222 and 1 more"
    assert settings(home, flags=Flags(context="lab"), DISPATCH_NATS_URL="nats://other:4222").bus_name() == "lab"
    assert settings(home, flags=Flags(nats="t0ken@other")).bus_name() == "--nats other"


@pytest.mark.parametrize("url", ["tls://nats-1.example:4222", "NATS-1.example", "nats://ana:x@nats-1.example:4222/"])
def test_a_protected_bus_is_protected_however_it_is_reached(home: Path, tmp_path: Path, url: str) -> None:
    up(tmp_path / "project")
    for found in (
        settings(home, flags=Flags(nats=url)),
        settings(home, flags=Flags(nats=url), DISPATCH_CONTEXT="lab"),
        settings(home, flags=Flags(nats=url), here=tmp_path / "project"),
        settings(home, DISPATCH_NATS_URL=f"nats://other,{url}", DISPATCH_CONTEXT="lab"),
    ):
        assert (found.protect, found.protect_source) == (True, "context prod")
    assert not settings(home, flags=Flags(nats="nats://nats-1.example:4333"), DISPATCH_CONTEXT="lab").protect
    assert not settings(home, flags=Flags(context="lab")).protect


def test_a_context_without_protect_on_the_servers_of_a_protected_one_is_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("contexts:\n  a: {nats: x, protect: true}\n  b: {nats: x}\n", encoding="utf-8")
    assert not resolve(Flags(context="b"), {"DISPATCH_CONFIG": str(path)}, tmp_path).protect


def test_an_inbox_prefix_goes_with_the_address_of_its_own_place(home: Path) -> None:
    def found(flags: Flags | None = None) -> Settings:
        return settings(home, flags=flags, DISPATCH_NATS_URL="nats://x", DISPATCH_NATS_INBOX_PREFIX="_INBOX_ana")

    assert found().bus().inbox_prefix == "_INBOX_ana"
    assert found(Flags(nats="nats://y", inbox_prefix="_INBOX_bo")).bus().inbox_prefix == "_INBOX_bo"
    assert found(Flags(nats="nats://y")).bus().inbox_prefix is None
    assert bus_settings(found(), name="t").inbox_prefix == "_INBOX_ana"
    assert bus_settings(found(Flags(nats="nats://y")), name="t").inbox_prefix == "_INBOX"


def test_an_inbox_prefix_without_its_url_or_that_is_none_is_bad_usage(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--inbox-prefix goes with --nats$"):
        settings(home, flags=Flags(inbox_prefix="_INBOX_ana"))
    with pytest.raises(ConfigError, match=r"^DISPATCH_NATS_INBOX_PREFIX goes with DISPATCH_NATS_URL$"):
        settings(home, DISPATCH_NATS_INBOX_PREFIX="_INBOX_ana")
    for prefix in ("_INBOX.>", "a b", ".a", "a.", "*", "_INBOX_ana\n"):
        with pytest.raises(ConfigError, match=r"is none$") as caught:
            settings(home, flags=Flags(nats="nats://x", inbox_prefix=prefix))
        assert "--inbox-prefix" in caught.value.why


def test_the_page_of_the_environment_names_each_variable_that_is_read() -> None:
    root = Path(__file__).parents[3]
    page = (root / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    code = "".join((root / "dispatch" / name).read_text(encoding="utf-8") for name in ("config.py", "contexts.py"))
    read = set(re.findall(r'"(DISPATCH_[A-Z_]+)"', code))
    assert "DISPATCH_NATS_INBOX_PREFIX" in read
    assert {name for name in read if f"`{name}`" not in page} == set()


def test_a_url_by_environment_drops_the_contexts_credentials(home: Path) -> None:
    found = settings(home, DISPATCH_NATS_URL="nats://other:4222,nats://third:4222")
    assert bus_of(found) == (("nats://other:4222", "nats://third:4222"), None)


def test_the_environments_credentials_never_go_with_a_flags_url(home: Path) -> None:
    found = settings(
        home, flags=Flags(nats="nats://x"), DISPATCH_NATS_URL="nats://other:4222", DISPATCH_NATS_CREDS="/secret"
    )
    assert bus_of(found) == (("nats://x",), None)


def test_credentials_without_their_url_are_bad_usage(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--creds goes with --nats$"):
        settings(home, flags=Flags(creds="a.creds"))
    with pytest.raises(ConfigError, match=r"^DISPATCH_NATS_CREDS goes with DISPATCH_NATS_URL$"):
        settings(home, DISPATCH_NATS_CREDS="a.creds")


def test_a_context_by_flag_wins_over_the_environment(home: Path) -> None:
    found = settings(home, flags=Flags(context="prod"), DISPATCH_DEFAULT_TENANT="nlp", DISPATCH_NATS_URL="nats://x")
    assert (bus_of(found)[0], found.tenant.value) == (("tls://nats-1.example:4222",), "vision")


def test_a_named_context_is_not_completed_by_the_current_one(home: Path) -> None:
    found = settings(home, flags=Flags(context="lab"))
    assert bus_of(found)[0] == ("nats://a:4222", "nats://b:4222")
    assert found.tenant.value is None
    with pytest.raises(ConfigError, match=r"^no tenant is named$"):
        found.tenant_name()
    assert settings(home, DISPATCH_CONTEXT="lab").address == found.address


def test_an_unknown_context_names_those_there_are(home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(home, flags=Flags(context="prd"))
    assert (caught.value.what, caught.value.why) == (
        "no context is named 'prd'",
        f"{home}/dispatch/config.yaml holds lab, prod",
    )


def test_a_running_up_here_or_in_a_parent_wins_over_the_current_context(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    up(project)
    (project / "deep" / "er").mkdir(parents=True)
    for here in (project, project / "deep" / "er"):
        found = settings(home, here=here)
        assert (bus_of(found)[0], found.bus_source) == (("nats://127.0.0.1:7",), str(project / ".dispatch"))
        assert (found.tenant.value, found.cluster.value, found.protect) == ("main", "local", False)


def test_an_up_that_has_ended_is_passed_over(home: Path, tmp_path: Path) -> None:
    up(tmp_path / "old", pid=2**22 + 1)
    assert bus_of(settings(home, here=tmp_path / "old"))[0] == ("tls://nats-1.example:4222",)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"nats": "x", "pid": "y"}', '{"pid": -1, "nats": []}', "\x00"])
def test_an_up_file_that_says_nothing_is_passed_over(home: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "odd" / ".dispatch").mkdir(parents=True)
    (tmp_path / "odd" / ".dispatch" / "up.json").write_text(text, encoding="utf-8")
    assert bus_of(settings(home, here=tmp_path / "odd"))[0] == ("tls://nats-1.example:4222",)


def test_an_up_in_a_folder_that_others_may_write_is_passed_over(home: Path, tmp_path: Path) -> None:
    up(tmp_path / "planted")
    (tmp_path / "planted" / ".dispatch").chmod(0o777)
    assert bus_of(settings(home, here=tmp_path / "planted"))[0] == ("tls://nats-1.example:4222",)


def test_the_settings_of_a_job_are_never_read(home: Path) -> None:
    names = ("TENANT", "JOB", "SUBMISSION", "RUN", "EPOCH")
    environ = {"XDG_CONFIG_HOME": str(home), "USER": "ana"}
    inside = environ | {f"DISPATCH_{name}": "other" for name in names}
    assert resolve(Flags(), inside, home) == resolve(Flags(), environ, home)


def test_without_any_bus_it_is_an_error_and_never_localhost(tmp_path: Path) -> None:
    found = settings(tmp_path)
    with pytest.raises(ConfigError, match=r"^no bus is named$") as caught:
        found.bus()
    assert caught.value.exit_code == 2


def test_credentials_that_others_may_read_are_refused(home: Path) -> None:
    creds = home / "dispatch" / "prod.creds"
    creds.write_text("x", encoding="utf-8")
    creds.chmod(0o640)
    with pytest.raises(ConfigError, match="may be read by others") as caught:
        settings(home).bus()
    assert (caught.value.exit_code, caught.value.do) == (5, f"chmod 600 {creds}")
    creds.chmod(0o600)
    assert settings(home).bus().urls == ("tls://nats-1.example:4222",)


def test_missing_credentials_are_told_as_such(home: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        settings(home).bus()
    assert caught.value.exit_code == 5


def test_the_actor_is_the_credentials_own_name(home: Path) -> None:
    body = base64.urlsafe_b64encode(json.dumps({"name": "Ana_B"}).encode()).decode().rstrip("=")
    creds = home / "dispatch" / "prod.creds"
    creds.write_text(f"-----BEGIN NATS USER JWT-----\nx.{body}.y\n------END NATS USER JWT------\n", encoding="utf-8")
    creds.chmod(0o600)
    assert settings(home).actor == "ana-b"
    assert settings(home, flags=Flags(nats="nats://x")).actor == "ana"
    assert settings(home, flags=Flags(nats="nats://x"), USER="Łukasz K.").actor == "ukasz-k"
    assert settings(home, flags=Flags(nats="nats://x"), USER="…").actor == "someone"


def test_a_name_that_is_no_token_is_refused_with_its_source(home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(home, DISPATCH_DEFAULT_TENANT="a.>")
    assert "DISPATCH_DEFAULT_TENANT" in caught.value.why


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("curent: prod\n", "line 1: curent: unknown field; known here: current, contexts"),
        ("contexts:\n  a: {url: x}\n", "line 2: url: unknown field"),
        ("contexts:\n  a: {tenant: x}\n", "line 2: a.nats: missing; write nats: [nats://host:4222]"),
        ("contexts:\n  a: {nats: [], tenant: x}\n", "line 2: a.nats: must be a list of URLs"),
        ("contexts:\n  a: {nats: x, protect: yes}\n", "line 2: a.protect: must be true or false"),
        ("contexts:\n  a: {nats: x}\n  a: {nats: y}\n", "line 3: a: the key is there twice"),
        ("contexts: [", "line 1: "),
    ],
)
def test_a_mistake_in_the_config_file_names_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        resolve(Flags(), {"DISPATCH_CONFIG": str(path)}, tmp_path)
    assert str(caught.value).startswith(f"{path} {says}")


def test_the_current_context_is_changed_and_every_other_line_kept(home: Path) -> None:
    path = contexts_path({"XDG_CONFIG_HOME": str(home)})
    set_current(read_contexts(path), "lab")
    assert path.read_text(encoding="utf-8") == PROD.replace("current: prod", "current: lab")
    set_current(read_contexts(path), None)
    assert path.read_text(encoding="utf-8") == PROD.replace("current: prod\n", "")
    assert read_contexts(path).current is None


def test_a_file_whose_lines_cannot_be_exchanged_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("{current: a, contexts: {a: {nats: x}, b: {nats: y}}}", encoding="utf-8")
    with pytest.raises(ConfigError):
        set_current(read_contexts(path), "b")
    assert read_contexts(path).current == "a"


def test_a_context_holds_all_that_one_bus_needs(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "contexts:\n  a: {nats: x, tls_ca: ca.pem, inbox_prefix: _INBOX_ana, monitoring: [http://x:8222], actor: ana}\n",
        encoding="utf-8",
    )
    found = resolve(Flags(context="a"), {"DISPATCH_CONFIG": str(path)}, tmp_path)
    address = found.bus()
    assert (address.tls_ca, address.inbox_prefix) == (tmp_path / "ca.pem", "_INBOX_ana")
    assert (address.monitoring, found.actor) == (("http://x:8222",), "ana")
