"""Names that a peer should not have, and a look at where they are shown."""

import contextlib
import io
import json

from bench.sites import Site
from proxy.cli.commands import root

NAMES = {
    "a cursor": "\x1b[2J\x1b[31mred\x07\x9b1m",
    "a line": '\r\n{"level": "info", "message": "forged"}\u2028\x85\x0b',
    "markup": "<script>alert(1)</script>[bold]![/bold]{{7*7}}%s%n",
    "directions": "\u202egpj.exe\u2066\u200b\ufeff\U000e0041",
    "quotes": "\"'`\\\x00\x7f",
    "long": "é" * 127,
}


def look(west: Site) -> None:
    """The status is JSON whose texts are printable, and so is what the command shows of it."""
    _, body = west.get("/api/v1/status")
    assert all(text.isprintable() for text in texts(json.loads(body)))
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        root.main(["status", str(west.config)], standalone_mode=False)
    assert "east" in shown.getvalue()
    assert all(line.isprintable() for line in shown.getvalue().split("\n"))


def texts(value: object) -> list[str]:
    """Every text in it, keys as well."""
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in texts(part)]
    return [value] if isinstance(value, str) else []
