from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch.jobfile.tree import FILE_BYTES_MAX, NODES_MAX, Node, TreeError, parse


def plain(node: Node) -> object:
    match node.value:
        case dict():
            return {name: plain(child) for name, child in node.value.items()}
        case list():
            return [plain(item) for item in node.value]
        case _:
            return node.value


def fields(text: str) -> dict[str, object]:
    value = plain(parse(text.encode()))
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    "word", ["no", "yes", "on", "off", "True", "FALSE", "y", "NO", "2026-11-28", "1_000", "60:30", "0b11", "="]
)
def test_only_true_and_false_are_more_than_words(word: str) -> None:
    assert fields(f"key: {word}") == {"key": word}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True),
        ("false", False),
        ("1", 1),
        ("-7", -7),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("~", None),
        ("null", None),
        ("", None),
        ('"1"', "1"),
        ("'true'", "true"),
    ],
)
def test_scalars_mean_what_the_core_schema_says(written: str, value: object) -> None:
    found = fields(f"key: {written}")["key"]
    assert found == value
    assert type(found) is type(value)


def test_on_is_a_key_and_no_a_value() -> None:
    assert fields("on: no") == {"on": "no"}


def test_every_value_knows_its_line() -> None:
    root = parse(b"a: 1\nb:\n  c: [x,\n      y]\n")
    assert isinstance(root.value, dict)
    assert root.keys == {"a": 1, "b": 2}
    inner = root.value["b"]
    assert isinstance(inner.value, dict)
    assert inner.keys == {"c": 3}
    items = inner.value["c"].value
    assert isinstance(items, list)
    assert [item.line for item in items] == [3, 4]


def test_a_key_twice_is_an_error_that_names_both_lines() -> None:
    with pytest.raises(TreeError, match=r"^line 3: nodes: the key is there twice \(first in line 1\)$"):
        parse(b"nodes: 1\nlabels: {}\nnodes: 2\n")


def test_a_key_twice_in_json_is_an_error_too() -> None:
    with pytest.raises(TreeError, match="twice"):
        parse(b'{"nodes": 1, "nodes": 2}')


@pytest.mark.parametrize("tagged", ["!!python/object:os.system x", "!x y", "!!str 1", "! 1", "!!set {a, b}"])
def test_a_tag_is_refused_and_nothing_is_made_of_it(tagged: str) -> None:
    with pytest.raises(TreeError, match="tag"):
        parse(f"key: {tagged}".encode())


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(TreeError, match=f"more than {NODES_MAX:,} values, aliases expanded"):
        parse("\n".join(lines).encode())


def test_an_alias_repeats_what_was_written() -> None:
    assert fields("a: &x {b: 1}\nc: *x") == {"a": {"b": 1}, "c": {"b": 1}}


def test_an_alias_inside_its_own_anchor_is_refused() -> None:
    with pytest.raises(TreeError, match="names nothing"):
        parse(b"&a [*a]")


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(TreeError, match="nested more than"):
        parse(b"[" * 100_000)


def test_a_file_above_the_bound_is_refused_unread() -> None:
    with pytest.raises(TreeError, match="bytes are too many"):
        parse(b"#" * (FILE_BYTES_MAX + 1))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "the file is empty"),
        (b"# only a comment\n", "the file is empty"),
        (b"a: 1\n---\nb: 2\n", "line 3: a second document"),
        (b"a: [1, 2", "line 1: expected"),
        (b"a: \x00", "line 1: character"),
        (b"a: 1\nb: \xff", "line 2: not UTF-8 text"),
        (b"? [a]\n: b", "a key must be a word"),
        (b"\tx: 1", "line 1: found character"),
    ],
)
def test_what_is_no_document_is_told_with_its_line(data: bytes, says: str) -> None:
    with pytest.raises(TreeError) as caught:
        parse(data)
    assert says in str(caught.value)


def test_json_indented_by_tabs_is_read_with_its_lines() -> None:
    root = parse(b'{\n\t"name": "a\\tb",\n\t"nodes": 2\n}')
    assert plain(root) == {"name": "a\tb", "nodes": 2}
    assert root.keys == {"name": 2, "nodes": 3}


def test_half_a_character_is_refused_and_a_whole_one_read() -> None:
    assert fields('{"a": "\\ud83d\\ude00"}') == {"a": "\N{GRINNING FACE}"}
    with pytest.raises(TreeError, match="half a character"):
        parse(b'{"a": "\\ud83d"}')


TEXT = st.text(alphabet=st.characters(exclude_characters="\x7f", exclude_categories=["Cs", "Cn"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 2, "\t"]))
@settings(max_examples=150)
def test_json_means_the_same_here_as_to_every_json_reader(value: object, indent: int | str | None) -> None:
    assert plain(parse(json.dumps(value, indent=indent).encode())) == value


def test_text_beyond_ascii_is_read_as_written() -> None:
    assert fields('{"grüße": "日本 😀 \u00a0"}') == {"grüße": "日本 😀 \u00a0"}


@given(st.binary(max_size=200) | st.text(alphabet="ab:-[]{},&*!|>'\"%@`#? \n\t~<0.", max_size=80).map(str.encode))
@settings(max_examples=400)
def test_any_bytes_are_a_tree_or_a_tree_error(data: bytes) -> None:
    try:
        root = parse(data)
    except TreeError:
        return
    assert root.line is not None
