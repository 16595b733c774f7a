"""A run ends after a test that failed as well: no thread that waits for nobody any more keeps Python from ending."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import parsed, statements, text_of

TESTS = Path(__file__).parents[1]


def lasting(tree: ast.AST) -> Iterator[int]:
    """Lines of threads that the end of the program waits for."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(attr="Thread"), _, keywords) if "daemon" not in {each.arg for each in keywords}:
                yield node.lineno
    for node in statements(tree):
        match node:
            case ast.ClassDef(bases=[ast.Attribute(attr="Thread")]) if "__init__(daemon=True)" not in ast.unparse(node):
                yield node.lineno


def test_threads_of_tests_are_daemons() -> None:
    paths = [path for path in sorted(TESTS.rglob("*.py")) if "Thread" in text_of(path)]
    found = [f"{path.relative_to(TESTS)}:{line}" for path in paths for line in lasting(parsed(path))]
    assert not found, "give them daemon=True:\n" + "\n".join(found)


def test_the_rule_bites() -> None:
    wrong = ["threading.Thread(target=work)", "class Work(threading.Thread):\n    def run(self): ..."]
    right = [
        "threading.Thread(target=work, daemon=True)",
        "class Work(threading.Thread):\n    def __init__(self): super().__init__(daemon=True)",
    ]
    assert [text for text in (*wrong, *right) if [*lasting(ast.parse(text))]] == wrong
