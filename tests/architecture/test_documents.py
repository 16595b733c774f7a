"""What documents, docstrings and comments name in backquotes is in the tree, and so are the sections that they quote.

A class that was divided or renamed left its old name behind, where the next reader looks for it in vain.
"""

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, parsed, python_files, statements, text_of, tracked

ELSEWHERE = {"Authorization", "EventSource", "Expect", "Host", "MDB_meta", "Origin", "TargetAddress"}
"""Names with a capital that are not ours: of HTTP, browsers, iSCSI and LMDB."""

QUOTED = re.compile(r"`([A-Z]\w*[a-z]\w*)(?:\.([a-z_]\w*))?(?:\(\))?`")
"""A class, or a member of one."""
SECTION = re.compile(r"\b([A-Z]+)\.md,\s+\"([^\"]+)\"")
COMMENT = re.compile(r"(?:^|\s)#.*")
"""Also what looks like one within a text: that is held to the same."""
OWN = re.compile(r"\bself\.(\w+)")


@dataclass
class Names:
    """What Python files say, gathered in one pass."""

    members: dict[str, set[str]] = field(default_factory=dict)
    """By the name of a class, what its body and methods call its own; of several of one name together."""
    bases: dict[str, set[str]] = field(default_factory=dict)
    others: set[str] = field(default_factory=lambda: ELSEWHERE.union(dir(builtins)))
    """What is imported, or called so without a class: types of other packages, and aliases of types."""
    words: list[tuple[str, str]] = field(default_factory=list)
    """Where docstrings and comments stand, and their text."""

    def read(self, path: Path) -> None:
        place, lines = str(path.relative_to(ROOT)), text_of(path).splitlines()
        for node in statements(parsed(path)):
            match node:
                case ast.ClassDef(name=name, bases=bases):
                    own = OWN.findall("\n".join(lines[node.lineno - 1 : node.end_lineno]))
                    self.members.setdefault(name, set()).update(own, names_in(node))
                    self.bases.setdefault(name, set()).update(each.id for each in bases if isinstance(each, ast.Name))
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    self.others.update(each.name for each in names)
                case ast.Assign() | ast.AnnAssign():
                    self.others.update(assigned(node))
                case ast.Expr(value=ast.Constant(value=str(text))):
                    self.words.append((f"{place}:{node.lineno}", text))
        for number, line in enumerate(lines, 1):
            if "#" in line and (comment := COMMENT.search(line)):
                self.words.append((f"{place}:{number}", comment.group()))

    def members_of(self, name: str) -> set[str]:
        """With those of its bases."""
        found, seen, left = set[str](), set[str](), [name]
        while left:
            if (each := left.pop()) not in seen:
                seen.add(each)
                found |= self.members.get(each, set())
                left += self.bases.get(each, set())
        return found


def names_in(node: ast.ClassDef) -> Iterator[str]:
    for each in statements(node):
        match each:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Assign() | ast.AnnAssign():
                yield from assigned(each)


def assigned(node: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))


@cache
def names() -> Names:
    found = Names()
    for path in python_files():
        found.read(path)
    return found


def prose() -> Iterator[tuple[str, str]]:
    """Where it stands, and text that is written for readers: documents, docstrings and comments."""
    yield from documents()
    yield from names().words


def documents() -> Iterator[tuple[str, str]]:
    for path in tracked():
        place = str(path.relative_to(ROOT))
        if path.suffix == ".md":
            yield place, re.sub(r"^ *```.*?^ *```", "", text_of(path), flags=re.MULTILINE | re.DOTALL)


def unknown(text: str) -> Iterator[str]:
    """Names of classes, and of members of them, that are nowhere in the tree."""
    for name, member in QUOTED.findall(text):
        if name in names().members:
            if member and member not in names().members_of(name):
                yield f"{name}.{member}"
        elif name not in names().others:
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
        for document, section in SECTION.findall(text):
            words = re.escape(" ".join(section.split()))
            heading = rf"^(?:#+ {words}|(?:- )?\*\*{words})(?: \(|, |\*\*|\.|$)"
            if not re.search(heading, texts[document], re.MULTILINE):
                found.append(f"{place}: {document}.md, {section}")
    assert not found, "\n".join(found)


def test_the_rules_bite() -> None:
    assert list(unknown("`Relays.happened` tells a `Relay`, by `Streams.consumed()`, of an `OSError`")) == []
    assert list(unknown("`NoSuchClass` has no `Relays.nothing_of_that_name`")) == [
        "NoSuchClass",
        "Relays.nothing_of_that_name",
    ]
