"""Two sites, streams both ways, and everything that can happen between them, in any order.

Whatever happens, each stream delivers a prefix of what was sent, every MISS is legal, and no pin is left.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from proxy.reduction.drafts import GRAIN_MAX
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import Stream, noise, two_sites

MOST_STREAMS = 4
SOURCE = noise(30_000, 1)
some = st.integers(0, 1 << 20)


def chosen(which: int, streams: list[Stream]) -> Stream:
    """One of several: any number names one."""
    return streams[which % len(streams)]


class Reduction(RuleBasedStateMachine):
    """Streams from the first site to the second and back, over stores that lose, evict, refuse and have to load."""

    @initialize(containers=st.tuples(st.integers(2, 40), st.integers(2, 40)))
    def begin(self, containers: tuple[int, int]) -> None:
        stores = [ShelfStore(n, entries=4) for n in containers]
        self.sites = two_sites(*stores)
        self.streams: list[Stream] = []

    @precondition(lambda self: len(self.streams) < MOST_STREAMS)
    @rule(
        back=st.booleans(),
        level=st.sampled_from([None, 1]),
        grain=st.sampled_from([1, 100, GRAIN_MAX]),
        follows=st.booleans(),
    )
    def open(self, back: bool, level: int | None, grain: int, follows: bool) -> None:
        near, far = self.sites[::-1] if back else self.sites
        self.streams.append(Stream(near, far, level=level, grain=grain, follows=follows))

    @precondition(lambda self: self.streams)
    @rule(which=some, at=st.integers(0, 20_000), n=st.integers(1, 9000), pause=st.booleans(), zeros=st.booleans())
    def write(self, which: int, at: int, n: int, pause: bool, zeros: bool) -> None:
        stream = chosen(which, self.streams)
        stream.write(bytes(n) if zeros else SOURCE[at : at + n])
        if pause:
            stream.pause()

    @precondition(lambda self: self.streams)
    @rule(which=some, n=st.integers(1, 9000), pieces=st.integers(1, 5), borders=st.booleans())
    def go_on(self, which: int, n: int, pieces: int, borders: bool) -> None:
        """What follows in the source what was written last, with pauses: as a second pass over a volume does."""
        stream = chosen(which, self.streams)
        for _ in range(pieces):
            at = len(stream.sent) % len(SOURCE)
            stream.write(SOURCE[at : at + n])
            if borders:
                stream.border()
            else:
                stream.pause()

    @precondition(lambda self: self.streams)
    @rule(which=some)
    def fall_silent(self, which: int) -> None:
        chosen(which, self.streams).encoder.shrink()

    @precondition(lambda self: any(stream.queue for stream in self.streams))
    @rule(which=some, most=st.integers(1, 5))
    def carry(self, which: int, most: int) -> None:
        stream = chosen(which, [stream for stream in self.streams if stream.queue])
        for _ in range(min(most, len(stream.queue))):
            stream.carry()

    @precondition(lambda self: any(stream.asked for stream in self.streams))
    @rule(which=some)
    def answer(self, which: int) -> None:
        chosen(which, [stream for stream in self.streams if stream.asked]).answer()

    @precondition(lambda self: any(stream.loading for stream in self.streams))
    @rule(which=some)
    def load(self, which: int) -> None:
        chosen(which, [stream for stream in self.streams if stream.loading]).load()

    @precondition(lambda self: any(stream.unconfirmed for stream in self.streams))
    @rule(which=some)
    def confirm(self, which: int) -> None:
        chosen(which, [stream for stream in self.streams if stream.unconfirmed]).confirm()

    @precondition(lambda self: self.streams)
    @rule(which=some, holding=st.booleans())
    def hold(self, which: int, holding: bool) -> None:
        chosen(which, self.streams).hold(holding)

    @rule(at=st.integers(0, 1), which=some, run=st.integers(1, 20), move=st.booleans())
    def lose(self, at: int, which: int, run: int, move: bool) -> None:
        """Chunks go, or go and come again elsewhere; not those that the store was told to keep."""
        store = self.sites[at].store
        names = store.names
        for name in names[which % (len(names) + 1) :][:run]:
            place = store.find(name)
            if place is None or store.pins[place[0]]:
                continue
            if move:
                store.move(name)
            else:
                store.lose(name)

    @rule(at=st.integers(0, 1), refusing=st.booleans(), cold=st.booleans(), silent=st.booleans())
    def trouble(self, at: int, refusing: bool, cold: bool, silent: bool) -> None:
        self.sites[at].store.refusing = refusing
        self.sites[at].store.cold = cold
        self.sites[at].silent = silent

    @rule(at=st.integers(0, 1), suspended=st.booleans())
    def suspend(self, at: int, suspended: bool) -> None:
        holdings = self.sites[at].holdings
        if suspended:
            holdings.reliability.missed(100, now=0)
        else:
            holdings.reliability.tick(now=100)

    @rule(at=st.integers(0, 1), rate=st.sampled_from([0, 1, 4000, 10_000]))
    def slow(self, at: int, rate: int) -> None:
        """The other site says how fast its store is."""
        self.sites[at].relief.told(rate)

    @rule(at=st.integers(0, 1))
    def rest(self, at: int) -> None:
        """So long that runs are tried again."""
        self.sites[at].now += 100

    @precondition(lambda self: self.streams)
    @rule(which=some)
    def abandon(self, which: int) -> None:
        stream = chosen(which, self.streams)
        stream.abandon()
        self.streams.remove(stream)

    @precondition(lambda self: self.streams)
    @rule(which=some)
    def end(self, which: int) -> None:
        stream = chosen(which, self.streams)
        stream.hold(False)
        stream.end()
        self.streams.remove(stream)

    @invariant()
    def arrays_get_a_prefix(self) -> None:
        for stream in self.streams:
            assert stream.sent.startswith(stream.received)

    @invariant()
    def nothing_waits_for_nobody(self) -> None:
        for stream in self.streams:
            if not (stream.decoder.idle or stream.holding):
                assert stream.loading or stream.asked

    def teardown(self) -> None:
        for stream in getattr(self, "streams", []):
            stream.hold(False)
            stream.end()
        for site in getattr(self, "sites", []):
            assert site.store.pinned == 0
            site.now += 100
            assert site.order.room > 0
            assert site.relief.idle


TestReduction = Reduction.TestCase
TestReduction.settings = settings(max_examples=60, stateful_step_count=60)
