"""Job files that cannot be meant, typed at a real bus: one clear error, exit 2, and nothing is sent."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.conftest import Here, Type

GOOD = "version: 1\nrun: {command: ['true']}\nrecovery: []\n"
BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
)
BAD = {
    "a bomb of aliases": (BOMB.encode(), "aliases expanded"),
    "a key twice": (b"version: 1\nnodes: 1\nrun: {command: [a]}\nnodes: 2\n", "the key is there twice"),
    "a key twice in JSON": (b'{"version": 1, "nodes": 1, "nodes": 2}', "twice"),
    "a mebibyte": (GOOD.encode() + b"# " + b"x" * 1024 * 1024, "bytes are too many"),
    "a spec of a mebibyte": (b"version: 1\nrun: {command: [a]}\nenv: {A: '" + b"x" * 900_000 + b"'}\n", "bytes"),
    "an object of Python": (b"version: !!python/object:os.system x\n", "tag"),
    "nested without end": (b"[" * 100_000, "nested more than"),
    "no text": (b"\xff\xfe\x00", "UTF-8"),
    "a second document": (b"version: 1\n---\nversion: 1\n", "a second document"),
    "a name of ours": (b"version: 1\nrun: {command: [a]}\nenv: {DISPATCH_JOB: x}\n", "reserved for dispatch"),
    "a wildcard for a name": (b"version: 1\nname: '*'\nrun: {command: [a]}\n", "name"),
    "dots in a cluster": (b"version: 1\ncluster: a.b\nrun: {command: [a]}\n", "cluster"),
    "nothing": (b"", "the file is empty"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_one_clear_error_and_nothing_is_sent(here: Here, dispatch: Type, what: str) -> None:
    data, says = BAD[what]
    (here.folder / "bad.yaml").write_bytes(data)
    told = dispatch("submit", "bad.yaml", "--name", "never")
    assert told.code == 2
    assert told.out == ""
    assert says in told.err, told.err
    assert told.err.startswith("error: bad.yaml")
    assert len(told.err.splitlines()) < 20
    assert dispatch("status", "never").code == 3
    document = json.loads(dispatch("submit", "bad.yaml", "--name", "never", "--json").out)
    assert document["error"]["code"] == "bad-job-file"


def test_a_good_file_is_taken_after_all_of_them(here: Here, dispatch: Type) -> None:
    assert dispatch("submit", here.write("good.yaml", GOOD), "--name", "good", "--wait").code == 0
