"""Sources that have more than anybody reads, and take turns."""

from proxy.net.turns import TURN, Turns
from tests.unit.net.loop import Loop

READ = 64 << 10
MANY = 32


class Source:
    """Has more than anybody reads."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.reads = True

    def round(self, most: int = 2 * TURN) -> int:
        """What the loop reads of it in one round."""
        read = 0
        while self.reads and read < most:
            read += READ
            if self.turns.spend(self, READ, more=True):
                self.reads = False
                self.turns.wait(self, self.go_on)
        return read

    def go_on(self) -> None:
        self.reads = True


def contended(turns: Turns, loop: Loop) -> list[Source]:
    """So many sources that all wait but for those whose turn it is."""
    sources = [Source(turns) for _ in range(MANY)]
    for _ in range(2):
        for source in sources:
            source.round()
        loop.next_round()
    return sources
