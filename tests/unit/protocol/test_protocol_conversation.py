"""tests/vectors/conversation.hex: a tunnel from its first HELLO to a stream that is over, through a lost lane."""

import re
from pathlib import Path

from blake3 import blake3

from proxy.protocol.codes import FrameType
from proxy.protocol.hello import Hello
from proxy.protocol.notices import ACK_DELAY
from proxy.protocol.reader import encode
from proxy.protocol.tunnel import Tunnel
from tests.unit.protocol.playbook import ALL, cut, tunnel

VECTOR = Path(__file__).parents[2] / "vectors" / "conversation.hex"
Said = tuple[str, int, str]
CHUNK = b"hello"
NAME = blake3(CHUNK).digest()
TAUGHT = b"\0\0\0\x05\0\0\0\x0c\0\0\0\x05\x01\x05\x03\x05" + NAME[:8] + CHUNK
REFERRED = b"\0\0\0\x05\0\0\0\x21\0\0\0\0\x02" + NAME


def written() -> list[Said]:
    """Site, lane and frame. What begins with a blank goes on with the frame before it."""
    text = re.sub(r" *#.*", "", VECTOR.read_text())
    frames = (line.split() for line in re.sub(r"\n ", " ", text).splitlines())
    return [(words[0], int(words[1]), "".join(words[2:])) for words in frames if words]


class Conversation:
    """East, which dials, and west; what they say, in order."""

    def __init__(self) -> None:
        self.sites = {"east": tunnel("east", "west"), "west": tunnel("west", "east")}
        self.now = 0.0
        self.said: list[Said] = []

    def dial(self, lane: int) -> None:
        east, west = self.sites.values()
        mine = self.hello("east", lane)
        west.join(mine, dialler=False, now=self.now)
        east.join(self.hello("west", lane), dialler=True, now=self.now, mine=mine)
        for site in (west, east):
            site.lane_up(lane, self.now)

    def hello(self, name: str, lane: int) -> Hello:
        hello = self.sites[name].hello()
        self.said.append((name, lane, encode(FrameType.HELLO, 0, 0, hello.encode()).hex()))
        return hello

    def says(self, name: str, lane: int, *, lost: bool = False) -> None:
        """All that the site has to say after a while; the other one hears it unless it is lost."""
        self.now += ACK_DELAY
        self.sites[name].tick(self.now)
        for frame in cut(self.sites[name].take({lane: ALL}, self.now).get(lane, [])):
            self.said.append((name, lane, encode(*frame).hex()))
            if not lost:
                self.other(name).receive(lane, frame, self.now)

    def other(self, name: str) -> Tunnel:
        return self.sites["west" if name == "east" else "east"]

    def settle(self, lane: int) -> None:
        """Until nobody has anything to say."""
        before = -1
        while before < len(self.said):
            before = len(self.said)
            self.says("west", lane)
            self.says("east", lane)


def test_the_conversation() -> None:
    talk = Conversation()
    east, west = (site.streams for site in talk.sites.values())
    talk.dial(1)
    talk.settle(1)
    number = east.open("array", "10.0.0.1")
    east.send_data(number, TAUGHT, len(CHUNK))
    talk.says("east", 1)
    west.accept(number)
    west.consumed(number)
    west.send_data(number, REFERRED, len(CHUNK))
    talk.says("west", 1)
    east.send_miss(number, [NAME])
    talk.says("east", 1)
    west.send_fill(number, NAME, CHUNK)
    talk.says("west", 1, lost=True)
    for site in talk.sites.values():
        site.lane_down(1, talk.now)
    talk.dial(2)
    talk.settle(2)
    east.consumed(number)
    east.send_end(number, len(CHUNK), b"")
    talk.says("east", 2)
    west.send_end(number, len(CHUNK), b"")
    talk.settle(2)
    assert not any(site.streams.remembers(number) for site in talk.sites.values())
    assert talk.said == written()
