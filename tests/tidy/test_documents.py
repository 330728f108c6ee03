"""What the documents point at exists: links, files, make targets; and the README stays short."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from dispatch.cli.catalog import VERBS
from tests.conftest import tiers
from tests.tidy.sources import ROOT, committed, files, none_of, sources

README_LINES_MAX = 120
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    .*$", re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
NAMED_PATH = re.compile(r"`((?:streams|projections|adapters|dispatch|tests|docs|examples|scripts|\.ci)/[\w./-]*)`")
MAKE = re.compile(r"\bmake ([a-z][a-z-]*)\b")
MAKEFILE = (ROOT / "Makefile").read_text()
TARGET = r"^([a-z][a-z-]*):"
ABSENT = re.compile(r"\b(DESIGN|MESSAGES|CLI) [0-9]")
NAMED_TEST = re.compile(r"`(test_\w+)`")
VERB = re.compile(r"(?:`|^    )dispatch ([a-z]+)\b", re.MULTILINE)


def documents() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *files("docs", "tests", "examples", endings=(".md",))]


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ +(.*)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead_links(document: Path) -> Iterator[str]:
    text = CODE.sub("", FENCED.sub("", document.read_text()))
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        if not target.exists():
            yield f"{document.relative_to(ROOT)}: {link} leads nowhere"
        elif anchor and anchor not in anchors(target.read_text()):
            yield f"{document.relative_to(ROOT)}: {link}: no such heading there"


def lost_paths(document: Path) -> Iterator[str]:
    for path in NAMED_PATH.findall(document.read_text()):
        if not (ROOT / path).exists():
            yield f"{document.relative_to(ROOT)}: names {path}, which does not exist"


def unknown_targets(document: Path, targets: set[str]) -> Iterator[str]:
    text = document.read_text()
    for code in [*FENCED.findall(text), *INDENTED.findall(text), *CODE.findall(text)]:
        for target in MAKE.findall(code):
            if target not in targets:
                yield f"{document.relative_to(ROOT)}: make {target} is no target"


def test_every_link_between_our_documents_leads_somewhere() -> None:
    none_of(finding for document in documents() for finding in dead_links(document))


def reached(start: Path) -> set[Path]:
    """Every document that links lead to from this one, however many."""
    found, left = {start}, [start]
    while left:
        document = left.pop()
        links = [link.partition("#")[0] for link in LINK.findall(CODE.sub("", FENCED.sub("", document.read_text())))]
        there = {(document.parent / link).resolve() for link in links if link.endswith(".md")}
        left += there - found
        found |= there
    return found


def test_every_page_of_the_documentation_can_be_reached_from_the_readme() -> None:
    there = reached(ROOT / "README.md")
    assert len(there) > 20
    none_of(f"{page.relative_to(ROOT)}: no link leads there" for page in documents() if page not in there)


def test_every_file_that_a_document_names_exists() -> None:
    none_of(finding for document in documents() for finding in lost_paths(document))


def test_every_make_command_in_a_document_is_a_target() -> None:
    targets = set(re.findall(TARGET, MAKEFILE, re.MULTILINE))
    none_of(finding for document in documents() for finding in unknown_targets(document, targets))


def test_every_command_in_a_document_is_one() -> None:
    shown = [(document, verb) for document in documents() for verb in VERB.findall(document.read_text())]
    assert len(shown) > 20
    none_of(
        f"{document.relative_to(ROOT)}: dispatch {verb} is no command" for document, verb in shown if verb not in VERBS
    )


def test_every_make_target_that_a_person_may_want_explains_itself() -> None:
    explained = set(re.findall(TARGET + ".* ## .", MAKEFILE, re.MULTILINE))
    assert set(re.findall(TARGET, MAKEFILE, re.MULTILINE)) - explained == {"style"}


def test_every_tier_has_a_target_and_a_place_in_the_list_of_tiers() -> None:
    listed = (ROOT / "tests" / "README.md").read_text()
    for tier in tiers() - {"tidy"}:
        assert re.search(rf"^test-{tier}: ## .", MAKEFILE, re.MULTILINE), f"make test-{tier} is no target"
        assert re.search(rf"^\| `tests/(integration/)?{tier}/` \|", listed, re.MULTILINE), (
            f"tests/README.md lacks {tier}"
        )


def test_nothing_cites_a_document_that_is_not_here() -> None:
    """Laws (`L4`), public reports (`R7`) and pages of docs/ can be looked up; a section of another paper cannot."""
    none_of(
        f"{path.relative_to(ROOT)}:{number}: {found[0]}"
        for path in committed()
        if path.suffix in {".py", ".md", ".yml", ".yaml", ".json", ".toml"}
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (found := ABSENT.search(line)) is not None
    )
    assert ABSENT.search("in one session (CLI " + "2.1)")


def every_test() -> set[str]:
    """The name of every test."""
    return {
        node.name
        for source in sources("tests")
        for node in source.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def test_every_test_that_a_document_names_exists() -> None:
    there = every_test()
    named = [(document, name) for document in documents() for name in NAMED_TEST.findall(document.read_text())]
    assert len(named) > 40
    none_of(f"{document.relative_to(ROOT)}: {name} is no test" for document, name in named if name not in there)


def test_every_public_report_is_answered_by_a_test() -> None:
    page = (ROOT / "docs" / "explanation" / "what-failed-elsewhere.md").read_text()
    rows = re.findall(r"^\| (R\d+) \|.*\| ([^|]+) \|$", page, re.MULTILINE)
    assert [number for number, _ in rows] == [f"R{number}" for number in range(1, 26)]
    none_of(f"{number} names no test" for number, kept_by in rows if not NAMED_TEST.search(kept_by))


def test_every_complaint_is_answered_by_a_test() -> None:
    page = (ROOT / "docs" / "explanation" / "what-users-complain-of.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 22
    none_of(f"no test: {row[:60]}" for row in rows if not NAMED_TEST.search(row))


def test_the_readme_is_read_in_one_go() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < README_LINES_MAX


def test_the_rules_find_a_dead_link_and_a_lost_anchor() -> None:
    document = ROOT / "tests" / "tidy" / "planted.md"
    assert anchors("# Why not a lock?\n```\n# not one\n```\n") == {"why-not-a-lock"}
    assert LINK.findall("[a](b.md) ![c](d.png)") == ["b.md"]
    assert not document.exists()
