"""What documents, docstrings and comments name in backquotes is in the tree, and so are the sections that they quote.

A class that was divided or renamed left its old name behind, where the next reader looks for it in vain.
"""

import ast
import builtins
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.test_house import ROOT, python_files, tracked

ELSEWHERE = {"Authorization", "EventSource", "Expect", "Host", "MDB_meta", "Origin", "TargetAddress"}
"""Names with a capital that are not ours: of HTTP, browsers, iSCSI and LMDB."""

QUOTED = re.compile(r"`([A-Z]\w*[a-z]\w*)(?:\.([a-z_]\w*))?(?:\(\))?`")
"""A class, or a member of one."""
SECTION = re.compile(r"\b([A-Z]+)\.md, \"([^\"]+)\"")


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(), str(path)) for path in python_files()}


@cache
def classes() -> dict[str, set[str]]:
    """By name, what their bodies and methods call their own; those of one name, and their bases, together."""
    members: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                members.setdefault(node.name, set()).update(own_names(node))
                bases.setdefault(node.name, set()).update(b.id for b in node.bases if isinstance(b, ast.Name))
    return {name: set().union(*(members.get(each, set()) for each in above(name, bases))) for name in members}


def above(name: str, bases: dict[str, set[str]]) -> set[str]:
    found, left = set[str](), [name]
    while left:
        if (each := left.pop()) not in found:
            found.add(each)
            left += bases.get(each, set())
    return found


def own_names(node: ast.ClassDef) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                yield name


@cache
def other_names() -> set[str]:
    """What Python files import, or call so without a class: types of other packages, and aliases of types."""
    found = set(dir(builtins))
    for tree in trees().values():
        for node in ast.walk(tree):
            match node:
                case ast.alias(name=name) | ast.Name(id=name, ctx=ast.Store()):
                    found.add(name)
    return found


@cache
def prose() -> tuple[tuple[str, str], ...]:
    """Where it stands, and text that is written for readers: documents, docstrings and comments."""
    return (*documents(), *words_in_code())


def documents() -> Iterator[tuple[str, str]]:
    for path in tracked():
        place = str(path.relative_to(ROOT))
        if path.suffix == ".md":
            yield place, re.sub(r"^ *```.*?^ *```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)


def words_in_code() -> Iterator[tuple[str, str]]:
    for path, tree in trees().items():
        place = str(path.relative_to(ROOT))
        for node in ast.walk(tree):
            match node:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield f"{place}:{node.lineno}", text
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            if token.type == tokenize.COMMENT:
                yield f"{place}:{token.start[0]}", token.string


def unknown(text: str) -> Iterator[str]:
    """Names of classes, and of members of them, that are nowhere in the tree."""
    for name, member in QUOTED.findall(text):
        if name in classes():
            if member and member not in classes()[name]:
                yield f"{name}.{member}"
        elif name not in other_names() | ELSEWHERE:
            yield name


def test_what_is_named_is_there() -> None:
    found = [f"{place}: {name}" for place, text in prose() for name in unknown(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("document", ["proxy/PROTOCOL.md", "dedupstore/FORMAT.md"])
def test_each_test_that_a_specification_names_is_there(document: str) -> None:
    named = set(re.findall(r"\btest_\w+", (ROOT / document).read_text()))
    assert named - {path.stem for path in python_files()} == set()


def test_each_section_that_is_quoted_is_there() -> None:
    """A heading, or a paragraph that begins in bold."""
    texts = {Path(place).stem: text for place, text in documents()}
    found = []
    for place, text in prose():
        for document, section in SECTION.findall(re.sub(r"\s+", " ", text)):
            heading = rf"^(?:#+ {re.escape(section)}|(?:- )?\*\*{re.escape(section)})(?: \(|, |\*\*|\.|$)"
            if not re.search(heading, texts[document], re.MULTILINE):
                found.append(f"{place}: {document}.md, {section}")
    assert not found, "\n".join(found)


def test_the_rules_bite() -> None:
    assert list(unknown("`Relays.happened` tells a `Relay`, by `Streams.consumed()`, of an `OSError`")) == []
    assert list(unknown("`NoSuchClass` has no `Relays.nothing_of_that_name`")) == [
        "NoSuchClass",
        "Relays.nothing_of_that_name",
    ]
