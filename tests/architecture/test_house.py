"""House rules that a reviewer should not have to repeat: sizes, words, and what must not be committed."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, parsed, python_files, statements, text_of, tracked

LONGEST = 500
"""Lines a file. A file that long has more than one purpose."""

FORBIDDEN_WORDS = {
    "session": "say tunnel, lane or stream: the word means all three elsewhere",
    "manager": "say what it does",
    "utils": "put each function where it belongs",
    "helper": "put each function where it belongs",
    "helpers": "put each function where it belongs",
}

MACHINE_PATHS = re.compile(rb"(?<![\w.])/(?:home|Users|work|root|build|mnt/data)/[\w.-]+")
REGISTRIES = re.compile(rb"\b(?:pypi|pythonhosted|npmjs|crates|golang|maven|debian|ubuntu)\.(?:org|com|io|net)\b")


def names_in(path: Path) -> Iterator[str]:
    """The module's own name and those of its classes and functions."""
    yield path.stem
    for node in statements(parsed(path)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def words_of(name: str) -> list[str]:
    """The words of a snake_case or CamelCase name, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def test_no_file_is_long() -> None:
    lengths = {path: len(text_of(path).splitlines()) for path in python_files()}
    long = {str(path.relative_to(ROOT)): lines for path, lines in lengths.items() if lines > LONGEST}
    assert not long, f"longer than {LONGEST} lines; divide by purpose: {long}"


def test_names_use_the_fields_words() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name} ({FORBIDDEN_WORDS[word]})"
        for path in python_files()
        for name in names_in(path)
        for word in words_of(name)
        if word in FORBIDDEN_WORDS and not name.startswith("pytest_session")
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("pattern", "remedy"),
    [
        pytest.param(MACHINE_PATHS, "use a path relative to the project, or a temporary one", id="machine paths"),
        pytest.param(REGISTRIES, "name the package and let the user's tool find it", id="registry hosts"),
    ],
)
def test_nothing_of_one_machine_is_committed(pattern: re.Pattern[bytes], remedy: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group().decode()}"
        for path in tracked()
        if path != Path(__file__)
        for match in pattern.finditer(path.read_bytes())
    ]
    assert not found, f"{remedy}: {found}"


def test_the_rules_bite() -> None:
    assert words_of("StreamManager") == ["stream", "manager"]
    assert words_of("TLSSession_utils") == ["tls", "session", "utils"]
    assert words_of("managed") == ["managed"]
    assert MACHINE_PATHS.search(b'open("/home/someone/x")')
    assert not MACHINE_PATHS.search(b"https://example.org/home/page and ./work/x")
    assert REGISTRIES.search(b"https://pypi." + b"org/simple")
