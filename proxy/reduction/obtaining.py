"""Gets the chunks and runs that a batch's tokens name: from the store's memory, from its disk, or from the peer.

One that is not at hand stops the batch, not the loop: `needs` says what to load from disk or what to ask the peer for.
While the disk does not answer, the peer is asked for what lies there, too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice

from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.errors import ChunkInvalid, ChunkMissing
from dedupstore.fingerprint import CHECK_BYTES, FINGERPRINT_BYTES, fingerprint
from dedupstore.store import ChunkStore, Place
from proxy.reduction.ahead import Ahead, AheadMemory
from proxy.reduction.batch import ReceivedBatch
from proxy.reduction.errors import BatchError, CorruptStream
from proxy.reduction.holdings import Holdings
from proxy.reduction.runs import stored_behind
from proxy.reduction.tokens import LEARN, REFERENCE, RUN, SLICE, Token

_LOOK_AHEAD = 1024
"""How many chunks and runs may be asked for at once: what one MISS frame holds."""
_ASKED_AMONG = 4 * _LOOK_AHEAD
"""Tokens that are searched for them, at most: our encoder sends fewer in a batch. A peer may send eight times as many,
and have each of a thousand chunks asked for by itself; searching all tokens each time would take seconds."""

_SOON = 32
"""Chunks of which the store is told before they are needed, at most."""
_LOOKED_AT = 4 * _SOON
"""Tokens that are searched for them, at most: where most are literals, searching all that wait would take milliseconds.
"""

KEPT_MAX = 4 << 20
"""Bytes kept for a batch, at most: fills until it is decoded, sliced chunks until it is decoded or has to wait.
Each is counted once, however often it is named and however little of it is delivered. (Chunks in REFERENCEs deliver
what they cost.) Batches of our encoder name less (its NAMED_MAX, and the lists of its runs)."""


@dataclass(slots=True)
class Needs:
    """Why a stream waits: a chunk to be loaded from disk, or chunks and runs to ask the peer for (each named once)."""

    load: bytes | None = None
    soon: list[bytes] = field(default_factory=list)
    """With `load`: chunks that the stream will need next, which may be loaded ahead."""
    load_behind: bytes | None = None
    """A chunk to be loaded, together with what was stored behind its container."""
    ask: list[bytes] = field(default_factory=list)


class Obtaining:
    """Serves one stream's incoming direction, batch by batch. Loop thread.

    If `chunk`, `sliced` or `run` returns nothing, the batch has to `wait`. Once its `needs` are met, and the peer owes
    no FILL (`asking`), the same token is tried again. When all tokens of a batch were served, it is `done`.
    """

    def __init__(
        self, store: ChunkStore, holdings: Holdings, writer: int, silent: Callable[[], bool], memory: AheadMemory
    ) -> None:
        """`writer`: the store keeps chunks of the same writer together. `silent`: whether its disk does not answer.

        `memory`: the tunnel's account of what is asked for ahead.
        """
        self._store = store
        self._holdings = holdings
        self._writer = writer
        self._silent = silent
        self._asked: set[bytes] = set()
        self._lists: set[bytes] = set()  # the runs among these
        self._kept_data: dict[bytes, bytes] = {}
        self._sliced: list[bytes] = []  # names of sliced chunks that are kept; the store holds them, too
        self._counted: set[bytes] = set()  # names that count against KEPT_MAX
        self._counted_bytes = 0
        self._verified = 0  # bytes from the store that were verified for the batch
        self._looked = False  # all was loaded that may help to find the run that is tried now
        self._place: Place | None = None  # of the chunk that was served last, if it came from the store
        self._container = 0
        self._learned: list[Place] = []  # places of learned chunks that holdings have not been told of yet
        self._needs: Needs | None = None
        self._ahead = Ahead(memory)
        self._foreseen = False  # the batch has waited for the disk, which was told what batches behind it name
        self.entered: bytes | None = None
        """The chunk with which reading came to another container: the container behind that is wanted next."""

    # -- for the tokens of a batch -----------------------------------------------------------------------------

    def chunk(self, name: bytes) -> bytes | None:
        """The verified chunk, or None if the batch has to wait for it."""
        self._place = None
        return self._kept(name) or self._stored(name)

    def sliced(self, name: bytes) -> bytes | None:
        """As `chunk`, for slices: the chunk is kept, so that it is verified once, however many slices are delivered."""
        data = self.chunk(name)
        if data is not None and name not in self._kept_data:
            self._keep(name, data)
            self._sliced.append(name)
        return data

    def run(self, n: int, name: bytes, before: bytes) -> tuple[list[bytes], Place | None]:
        """The names of the run's n chunks, or none if the batch has to wait; and the place behind which the store holds
        them, None if the peer has listed them. `before`: the chunk that it follows."""
        listed = self._listed(n, name)
        return (listed, None) if listed else self._stored_run(n, name, before)

    def stretch(self, place: Place, names: Sequence[bytes], most: int) -> tuple[int, bytes]:
        """How many of the chunks behind that place, which `run` gave with their names, are at hand together; and their
        verified bytes, at most `most`."""
        count, data = self._store.read_behind(place, names, most)
        self._verified += len(data)
        return count, data

    def learn(self, name: bytes, data: bytes | memoryview) -> None:
        """Store a chunk that the peer has taught, and so holds, too."""
        place = self._store.put(name, data, self._writer)
        if place is not None:
            self._learned.append(place)

    def wait(self, rest: Iterable[Token], behind: Iterable[ReceivedBatch] = ()) -> None:
        """The batch waits. `rest`: its tokens, from the one on that names what was not at hand.

        If the peer is to be asked for that, it is asked at once for all else that these tokens name and that is not at
        hand, as far as that is cheap to find out, and for what the batches `behind` lack. If it is to be loaded, the
        disk is told which chunks are named next.
        """
        needs = self._needs
        if needs is not None and needs.ask:
            self._ask(needs, [*islice(rest, _ASKED_AMONG)], behind)
        elif needs is not None and needs.load is not None:
            needs.soon = self._soon(islice(rest, 1, None), behind)
        for name in self._sliced:  # the batch may wait for long, and so may many others
            del self._kept_data[name]
        self._sliced.clear()

    def done(self) -> int:
        """The batch is decoded: drop what was kept for it. Returns how many bytes from the store were verified."""
        if self._counted:
            self._kept_data.clear()
            self._sliced.clear()
            self._counted.clear()
            self._counted_bytes = 0
        if self._learned:
            self._note_learned()
        self._ahead.passed()
        self._foreseen = False
        verified, self._verified = self._verified, 0
        return verified

    def close(self) -> None:
        """The stream is over."""
        self.done()
        self._ahead.clear()

    # -- while it waits ----------------------------------------------------------------------------------------

    @property
    def asking(self) -> bool:
        """True until the peer has filled all that it was asked for; the batch waits for all of it.

        It waits even for what the store has got by another way: the peer must see the MISS before it hears that the
        batch is consumed. Besides, sliced chunks have to be read again after each wait.
        """
        return bool(self._asked)

    def needs(self) -> Needs | None:
        """What the batch waits for, told once; None if there is nothing new."""
        needs, self._needs = self._needs, None
        return needs

    def asks(self, name: bytes) -> bool:
        """True if the peer has yet to fill the chunk or run of that name."""
        return name in self._asked

    def fill(self, name: bytes, data: bytes) -> None:
        """The peer's answer to a MISS, decoded. Raises BatchError if it was not asked for, CorruptStream if wrong."""
        if not self.asks(name):
            raise BatchError(f"FILL of {name.hex()[:16]} was not asked for")
        if not 1 <= len(data) <= LARGEST_CHUNK or fingerprint(data) != name:
            raise CorruptStream(f"filled chunk {name.hex()[:16]} does not match its fingerprint")
        self._asked.discard(name)
        if not self._ahead.fill(name, data):
            self._keep(name, data)
        if name in self._lists:
            self._lists.discard(name)
            return
        place = self._store.put(name, data, self._writer)
        if place is not None:
            self._holdings.add(place)

    # ----------------------------------------------------------------------------------------------------------

    def _ask(self, needs: Needs, rest: list[Token], behind: Iterable[ReceivedBatch]) -> None:
        """Ask for what these tokens and the batches behind lack; if the first is a RUN, for all RUNs.

        That one was not found, so there will be others that are not.
        """
        all_runs, taught, seen = rest[0][0] == RUN, _taught(rest), dict[bytes, bool]()
        lacking = [token[3] for token in self._lacking(rest, taught, seen, all_runs=all_runs)]
        runs = {token[3] for token in rest if token[0] == RUN}
        needs.ask = list(dict.fromkeys([*needs.ask, *lacking]))[:_LOOK_AHEAD]
        self._asked.update(needs.ask)
        for number, batch in enumerate(behind, 1):
            taught |= _taught(batch.tokens)
            tokens = self._lacking(batch.tokens, taught, seen, all_runs=all_runs)
            early = {token[3]: token for token in tokens if token[3] not in self._asked}
            if len(needs.ask) + len(early) > _LOOK_AHEAD or not self._ahead.expect(early.values(), batch.plain, number):
                break
            runs.update(name for name, token in early.items() if token[0] == RUN)
            needs.ask += early
            self._asked.update(early)
        self._lists.update(runs.intersection(needs.ask))

    def _soon(self, rest: Iterator[Token], behind: Iterable[ReceivedBatch]) -> list[bytes]:
        """Chunks that these tokens name, and those of the batches behind, which are searched once for each batch."""
        tokens = rest if self._foreseen else chain(rest, chain.from_iterable(batch.tokens for batch in behind))
        self._foreseen = True
        return [*islice(_referred_to(islice(tokens, _LOOKED_AT)), _SOON)]

    def _kept(self, name: bytes) -> bytes | None:
        """The chunk or list of that name, if it is kept: because it was filled or, of chunks, sliced."""
        return self._kept_data.get(name) or self._ahead.get(name)

    def _stored(self, name: bytes) -> bytes | None:
        """The chunk from the store; None if it has to be loaded or asked for first."""
        place = self._held(name)
        try:
            data = self._store.read(name) if place is not None else b""
        except (ChunkMissing, ChunkInvalid):
            data = b""
        if data is None and not self._silent():
            self._needs = Needs(load=name)
        elif not data:
            self._needs = Needs(ask=[name])
        else:
            self._verified += len(data)
            self._place = place
            if place is not None and place[0] != self._container:
                self._container = place[0]
                self.entered = name
        return data or None

    def _listed(self, n: int, name: bytes) -> list[bytes]:
        """The names of the run's chunks, if the peer has filled its list; otherwise none."""
        data = self._kept(name)
        if data is None:
            return []
        if len(data) != n * FINGERPRINT_BYTES:
            raise BatchError(f"a list of {len(data)} bytes for a RUN of {n} chunks")
        return _names_in(data)

    def _stored_run(self, n: int, name: bytes, before: bytes) -> tuple[list[bytes], Place | None]:
        """As `run`, if the store holds the chunks behind `before`; otherwise none, and `_needs` is set: to load more
        before that is known, or to ask the peer."""
        place = self._place or self._held(before)
        names = stored_behind(self._store, self._holdings, place, n) if place is not None else []
        if len(names) < n and not self._looked and not self._silent():
            self._looked = True
            self._needs = Needs(load_behind=names[-1] if names else before)
            return [], None
        self._looked = False
        if _are(names, n, name):
            return names, place
        self._needs = Needs(ask=[name])
        return [], None

    def _keep(self, name: bytes, data: bytes) -> None:
        self._kept_data[name] = data
        if name not in self._counted:
            self._counted.add(name)
            self._counted_bytes += len(data)
        if self._counted_bytes > KEPT_MAX:
            raise BatchError(f"a batch slices, or had to be filled, more than {KEPT_MAX} bytes of chunks")

    def _lacking(
        self, tokens: Iterable[Token], taught: set[bytes], seen: dict[bytes, bool], *, all_runs: bool
    ) -> Iterator[Token]:
        """Tokens for which the peer has to be asked. Known runs count as references.

        These are REFERENCEs and SLICEs whose chunk is neither at hand nor `taught`; and RUNs that are not known, if
        they follow such a token, or all of them with `all_runs`. `seen` remembers what is at hand: while the disk does
        not answer, to know that takes a verification.
        """
        lacking = False
        for token in self._unfolded(tokens):
            opcode, _, _, name = token
            if opcode in (REFERENCE, SLICE):
                if name not in seen:
                    seen[name] = self._at_hand(name)
                lacking = name[:CHECK_BYTES] not in taught and not seen[name]
                if lacking:
                    yield token
            elif opcode == RUN and (lacking or all_runs) and self._kept(name) is None:
                yield token

    def _unfolded(self, tokens: Iterable[Token]) -> Iterator[Token]:
        """These tokens, with references in place of each RUN whose chunks are known without a load."""
        before = b""
        for token in tokens:
            opcode, n, _, name = token
            names = self._foreseen_run(n, name, before) if opcode == RUN else []
            if names:
                yield from [(REFERENCE, 0, 0, each) for each in names]
            else:
                yield token
            before = name

    def _foreseen_run(self, n: int, name: bytes, before: bytes) -> list[bytes]:
        """As `run`, but none as well if anything would have to be loaded to know them."""
        listed = self._kept(name)
        if listed is not None:
            return _names_in(listed) if len(listed) == n * FINGERPRINT_BYTES else []
        place = self._held(before) if before else None
        names = stored_behind(self._store, self._holdings, place, n) if place is not None else []
        return names if _are(names, n, name) else []

    def _at_hand(self, name: bytes) -> bool:
        """True if the chunk or run need not be asked for."""
        return self._kept(name) is not None or (self._held(name) is not None and self._readable(name))

    def _readable(self, name: bytes) -> bool:
        """True if a stored chunk can be read: while the disk does not answer, only if it is in memory."""
        if not self._silent():
            return True
        with suppress(ChunkMissing, ChunkInvalid):
            return self._store.read(name) is not None
        return False

    def _held(self, name: bytes) -> Place | None:
        """Where the chunk lies, if we have it and the peer may refer to it."""
        if self._learned:
            self._note_learned()
        place = self._store.find(name)
        return place if place is not None and self._holdings.shares(place) else None

    def _note_learned(self) -> None:
        """Tell holdings that the peer holds what it has taught: before a look-up, and when a batch is complete."""
        self._holdings.add_all(self._learned)
        self._learned.clear()


def _are(names: Sequence[bytes], n: int, name: bytes) -> bool:
    """True if these are the n chunks of the run of that name."""
    return len(names) == n and fingerprint(b"".join(names)) == name


def _names_in(listed: bytes) -> list[bytes]:
    return [listed[at : at + FINGERPRINT_BYTES] for at in range(0, len(listed), FINGERPRINT_BYTES)]


def _referred_to(tokens: Iterable[Token]) -> Iterator[bytes]:
    """The names of the chunks in REFERENCEs and SLICEs."""
    return (name for opcode, _, _, name in tokens if opcode in (REFERENCE, SLICE))


def _taught(tokens: Iterable[Token]) -> set[bytes]:
    """The checks in LEARNs."""
    return {name for opcode, _, _, name in tokens if opcode == LEARN}
