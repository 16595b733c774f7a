"""Names and reasons that a peer chooses cannot move a cursor, forge a line, or break JSON, wherever they are shown.

They come by HELLO, OPEN, RESET, DRAIN and CLOSE, and go to the log, the status, `isthmus status` and back to the peer.
"""

import json
import re

import pytest

from bench.sites import Site
from proxy.protocol.codes import CloseCode, FrameType, ResetCode
from proxy.protocol.frames import encode_close, encode_drain, encode_reset, encode_token
from proxy.protocol.reader import encode
from tests.integration.bed.ends import Array, swallow
from tests.integration.bed.sites import Bed, drain
from tests.integration.peers.hostile import NAMES, look
from tests.integration.peers.scripted import context, dial, hello, open_
from tests.integration.peers.stage import listening

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
