"""Tests of real processes judge what was delivered by means that never give wrong bytes a second run."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import parsed, statements

TESTS = Path(__file__).parents[1]
DELIVERED = {"data", "answer", "received"}
"""Attributes that hold what has come: of `Arrival`, `Sending` and `Task`."""
HEARING = {"how_it_ends", "how_dialling_ends", "recv"}
REMEDY = "a failed assertion gets a second run: use `whole`, `torn`, `prefix_of`, `hears` or `same` of bed/ends.py"


def bare(tree: ast.AST) -> Iterator[int]:
    """Lines of assertions that compare what was delivered, or say that it did not end in order."""
    for node in statements(tree):
        if isinstance(node, ast.Assert) and any(map(_judges, ast.walk(node.test))):
            yield node.lineno


def _judges(node: ast.AST) -> bool:
    match node:
        case ast.Name("RESET"):
            return True
        case ast.Call(ast.Attribute(attr="startswith"), [came]):
            return _delivered(came)
        case ast.Compare(left, [ast.Eq() | ast.NotEq() as operator], [right]):
            denied = isinstance(operator, ast.NotEq) and isinstance(right, ast.Name) and right.id == "END"
            return denied or any(map(_delivered, (left, right)))
    return False


def _delivered(node: ast.expr) -> bool:
    """What has come, as bytes or beside other things."""
    match node:
        case ast.Tuple(parts):
            return any(map(_delivered, parts))
        case ast.Attribute(attr=name):
            return name in DELIVERED
        case ast.Call(ast.Name("bytes"), [inner]):
            return _delivered(inner)
        case ast.Call(ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in HEARING
    return False


def test_no_bare_assertion_judges_what_was_delivered() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted((TESTS / "integration").rglob("*.py"))
        for line in bare(parsed(path))
    ]
    assert not found, f"{REMEDY}\n" + "\n".join(found)


def test_the_rule_bites() -> None:
    wrong = [
        "CONTENT.startswith(arrival.data)",
        "array.arrival().wait().data == CONTENT",
        "(sending.ended, bytes(sending.answer)) == (END, b'')",
        "(arrival.data == CONTENT, arrival.ended) == (True, END)",
        "arrival.ended == RESET",
        "how_it_ends(near) == (b'', END)",
        "how_it_ends(near)[1] != END",
        "near.recv(4) == b'echo'",
        "all(task.received == CONTENT for task in tasks)",
    ]
    right = ["len(arrival.data) < BULK", "not arrival.data", "arrival.ended == END", "live.recv(48)[0] == LOGIN"]
    assert [text for text in (*wrong, *right) if [*bare(ast.parse(f"assert {text}"))]] == wrong
