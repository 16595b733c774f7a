"""Names and reasons that a peer chooses cannot move a cursor, forge a line, or break JSON, wherever they are shown.

They come by HELLO, OPEN, RESET, DRAIN and CLOSE, and go to the log, the status, `isthmus status` and back to the peer.
"""

import contextlib
import io
import json
import re

import pytest

from bench.sites import Site
from proxy.cli.commands import root
from proxy.protocol.codes import CloseCode, FrameType, ResetCode
from proxy.protocol.frames import encode_close, encode_drain, encode_reset, encode_token
from proxy.protocol.reader import encode
from tests.integration.bed.ends import Array, swallow
from tests.integration.bed.sites import Bed, drain
from tests.integration.peers.scripted import context, dial, hello, open_
from tests.integration.peers.stage import listening

NAMES = {
    "a cursor": "\x1b[2J\x1b[31mred\x07\x9b1m",
    "a line": '\r\n{"level": "info", "message": "forged"}\u2028\x85\x0b',
    "markup": "<script>alert(1)</script>[bold]![/bold]{{7*7}}%s%n",
    "directions": "\u202egpj.exe\u2066\u200b\ufeff\U000e0041",
    "quotes": "\"'`\\\x00\x7f",
    "long": "é" * 127,
}
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (debug|info|warning|error|critical) +\S.*")


@pytest.mark.parametrize("form", ["json", "text"])
def test_hostile_names(bed: Bed, form: str) -> None:
    with Array(swallow) as array:
        pair = bed.pair(array.address, tunnel={"drain": "0s"})
        west = pair.west
        west.config.write_text(f'{west.config.read_text()}\n[log]\nformat = "{form}"\n')
        west.start()
        west.wait_ready()
        for name in NAMES.values():
            pester(bed, west, name)
        drain(west)
        text = west.log.read_text()
    lines = (
        [str(json.loads(line)["message"]) for line in text.splitlines()] if form == "json" else text.split("\n")[:-1]
    )
    assert all(line.isprintable() for line in lines)
    assert form == "json" or all(LINE.fullmatch(line) for line in lines)
    for named in ("\\x1b[2J", "\\r\\n", "<script>", "\\u202e", "\\x00", "é" * 60):
        assert any(named in line for line in lines), named
    assert "forged" not in lines


def pester(bed: Bed, west: Site, name: str) -> None:
    """Use the name wherever a peer may."""
    with dial(listening(west), context(bed.directory / "east")) as lane:
        lane.greet(hello("east", "west", site=cut(name)))
        assert lane.close_of()[1].isprintable()
    with dial(listening(west), context(bed.directory / "east")) as lane:
        lane.come_up(hello("east", "west", software=name))
        lane.send(open_(1, name), open_(3, "array", name), open_(5, "array", name))
        code, reason = lane.reset_of(1)
        assert (code, reason.isprintable()) == (ResetCode.NOT_EXPORTED, True)
        lane.send(encode(FrameType.DRAIN, 0, 0, encode_drain(name)))
        lane.send(encode(FrameType.RESET, 5, 1, encode_reset(ResetCode.INTERNAL, name)))
        lane.send(encode(FrameType.PING, 0, 0, encode_token(1)))
        lane.expect(FrameType.PONG)
        look(west)
        lane.send(encode(FrameType.CLOSE, 0, 0, encode_close(CloseCode.SHUTDOWN, name)))
        lane.ending()
        look(west)


def cut(name: str) -> str:
    """As much as a site's name may have."""
    return name.encode()[:64].decode(errors="ignore")


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
