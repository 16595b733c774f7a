"""Decides how a chunk is sent: as a reference if the peer holds it, otherwise literally, or as slices as far as it
repeats chunks that were stored one after another.

While the data follows what was stored before, even a piece of a chunk before a pause needs no literal bytes: the chunk
that was stored after the last one is expected, and if the piece is its beginning, it goes as a slice.
"""

from collections.abc import Sequence

from dedupstore.fingerprint import fingerprint
from dedupstore.prefix import common_prefix
from dedupstore.store import ChunkStore, Place
from proxy.reduction.course import Course, Stored
from proxy.reduction.drafts import Drafts
from proxy.reduction.underway import Underway

_WORTH_SLICING = 64
"""Bytes from which on a SLICE is worth it: it takes up to 39 itself."""
_WORTH_FOLLOWING = 512
"""The same where a chunk may consist of several slices: shorter ones would cost more tokens than a batch may have."""
_ROOMY = 3072
"""A chunk of at least so many bytes may have two shorter slices, at its beginning and at its end. Elsewhere so few
bytes go as literals, and what comes behind them as a slice again."""
_FOLLOWED_MAX = 2 << 20
"""Bytes of chunks that a batch names, beyond which unknown chunks name no more of them in slices: the rest of NAMED_MAX
is for whole chunks, and few bytes must not make the peer read more than this."""


class Matcher:
    """One stream's outgoing direction. Loop thread.

    It is given a chunk as far as it has come, with `sent`: how many of its first bytes are in a batch already.
    """

    def __init__(self, store: ChunkStore, writer: int, course: Course, drafts: Drafts, underway: Underway) -> None:
        """`writer`: the store keeps chunks of the same writer together."""
        self._store = store
        self._writer = writer
        self._course = course
        self._drafts = drafts
        self._underway = underway
        self._expected: Stored | None = None  # what the incomplete chunk is expected to repeat, behind what is sent
        self._surprised = False  # the incomplete chunk is not the expected one

    def chunk(self, data: memoryview, sent: int, name: bytes | None = None) -> None:
        """Send the rest of a complete chunk by the shortest means, and say where it ends. `name`: if it is known."""
        course, drafts = self._course, self._drafts
        name, length = name or fingerprint(data), data.nbytes
        if (place := self._referable(name, length, sent)) is not None:
            self._refer(name, place, data, length, sent)
        elif (
            course.follows
            and (course.found or course.bordered or self._expected)  # otherwise there is no candidate
            and (stored := self._candidate(data, sent)) is not None
        ):
            self._follow(name, data, sent, stored)
        else:
            drafts.literal(data[sent:] if sent else data)
            course.passed(name, self._learn(name, data))
            course.found = False
        self._complete(name, data)

    def chunks(self, data: memoryview, sent: int, place: Place, ends: Sequence[int], names: Sequence[bytes]) -> None:
        """Send complete chunks, at least one, that are stored one after another from `place` on.

        `ends`: where they end in `data`. `sent`: as in `chunk`, of the first one.
        """
        if not sent and self._all_referable(place, names, ends[-1]):
            self._refer_all(place, names, ends[-1])
            self._complete(names[0], data[: ends[0]])
            return
        at = 0
        for end, name in zip(ends, names, strict=True):
            self.chunk(data[at:end], sent, name)
            at, sent = end, 0

    def _complete(self, name: bytes, data: memoryview) -> None:
        """The incomplete chunk, or the first of several, is complete and sent."""
        if self._course.bordered:
            self._course.note(name, data)
        self._drafts.sliced = self._expected = None
        self._surprised = False

    def piece(self, data: memoryview, sent: int, *, patient: bool) -> int:
        """Send the rest of an incomplete chunk before a pause; returns how many of its bytes are sent then.

        `patient`: what may go as a slice once `Course.wanted` is loaded is not sent yet.
        """
        sent = self._follow_expected(data, sent)
        left = len(data) - sent
        if not left or (patient and self._course.wanted is not None):
            return sent
        self._drafts.literal(data[sent:])
        if self._expected is not None:
            self._expected = self._expected.on(left)
        return len(data)

    def _referable(self, name: bytes, length: int, sent: int) -> Place | None:
        """The place of that chunk of `length` bytes, if the batch may refer to it. `sent`: as in `chunk`.

        A chunk that goes literally because the peer's store is slow is counted here.
        """
        place = self._store.find(name)
        if place is None or not self._course.peer_holds(name, place):
            return None
        if self._underway.full:
            self._underway.relieve(length - sent)
            return None
        return place if self._drafts.draft.may_name(name, length) else None

    def _refer(self, name: bytes, place: Place, data: memoryview, length: int, sent: int) -> None:
        if not sent:
            self._drafts.refer((name,), place, length)
        elif length - sent >= _WORTH_SLICING:
            self._drafts.slice(name, place, length, sent, length - sent)
        else:
            self._drafts.literal(data[sent:])
            self._drafts.learn(name, length, None)
        self._course.passed(name, place)
        self._course.found = True

    def _all_referable(self, place: Place, names: Sequence[bytes], length: int) -> bool:
        """True if the batch may refer to these chunks, `length` bytes together; False if it has to be asked of each."""
        return (
            not self._underway.full
            and self._course.peer_holds_all(place, len(names))
            and self._drafts.draft.may_name_all(names, length)
        )

    def _refer_all(self, place: Place, names: Sequence[bytes], length: int) -> None:
        self._store.count_hits(place, names, length)
        self._drafts.refer(names, place, length)
        self._course.passed(names[-1], (place[0], place[1] + len(names) - 1))
        self._course.found = True

    def _learn(self, name: bytes, data: memoryview) -> Place | None:
        """Store a chunk that was sent, and have the peer learn it. Returns its place in our store; None: no room."""
        place = self._store.put(name, data, self._writer)
        self._drafts.learn(name, len(data), place)
        return place

    # -- chunks that are not known -----------------------------------------------------------------------------

    def _candidate(self, data: memoryview, sent: int) -> Stored | None:
        """The stored chunk that the rest of this one, behind `sent`, may repeat; None if none is known."""
        course, expected = self._course, self._expected
        if expected is not None and course.may_still(expected):
            return expected if expected.at <= len(expected.data) else None
        stored = course.recall(data, course.continuation() if course.found else None)
        if stored is None or not sent:
            return stored
        return stored.on(sent) if stored.data.startswith(data[:sent], stored.at) else None

    def _follow(self, name: bytes, data: memoryview, sent: int, stored: Stored) -> None:
        """Send the rest of a chunk: as slices as far as it repeats what is stored, and literally behind that."""
        border, sent, found = self._slice_along(data, sent, stored)
        rest = data[border:]
        if border and rest:
            name = fingerprint(rest)  # what is behind a whole chunk may have been learned alone
            if not found and (place := self._referable(name, len(rest), sent - border)) is not None:
                self._refer(name, place, rest, len(rest), sent - border)
                return
        self._drafts.literal(data[sent:])
        if rest:
            place = self._learn(name, rest)
            if not found:
                self._course.passed(name, place)
        self._course.found = found

    def _slice_along(self, data: memoryview, sent: int, stored: Stored | None) -> tuple[int, int, bool]:
        """Send as slices what repeats `stored` and the chunks that were stored behind it.

        Bytes too few for a slice go literally, if they lead to the end of a stored chunk, but not twice in a row.
        Returns the offset at which the chunk that is left to be learned begins, how many bytes are sent, and whether
        the end of the data was found in what is stored.
        """
        course, drafts = self._course, self._drafts
        border, bridged = 0, False
        while stored is not None:
            length = len(stored.data)
            n = common_prefix(stored.data, stored.at, data[sent:])
            last, ends = sent + n == len(data), stored.at + n == length
            few = n < _WORTH_FOLLOWING and stored.at < length
            if few and not last and (bridged or not ends):
                break
            sliced = not few or (len(data) >= _ROOMY and (last or not sent))
            if sliced and n and not drafts.draft.may_name(stored.name, length, _FOLLOWED_MAX):
                break
            sliced = self._repeat(stored, data[sent : sent + n], sliced=sliced)
            sent += n
            bridged = few
            if not ends:
                course.inside = stored.name, stored.place, stored.at + n
                return border, sent, last
            if sliced and sent - border == length and stored.data.startswith(data[border:sent]):
                border = sent  # the peer sees the whole chunk, and so a border
            course.passed(stored.name, stored.place)
            if last:
                return border, sent, True
            stored = course.continuation()
        return border, sent, False

    def _repeat(self, stored: Stored, data: memoryview, *, sliced: bool = True) -> bool:
        """Send bytes that are those of `stored` from its `at` on. True if they go as a slice."""
        if len(data) < _WORTH_SLICING or not sliced:
            self._drafts.literal(data)
            return False
        self._drafts.slice(stored.name, stored.place, len(stored.data), stored.at, len(data))
        return True

    # -- incomplete chunks -------------------------------------------------------------------------------------

    def _follow_expected(self, data: memoryview, sent: int) -> int:
        """Send an incomplete chunk as slices, as far as it is as expected; returns how many bytes of it are sent then.

        A slice up to the expected chunk's end may be a border, and whether there is one is not known yet (the expected
        chunk may have ended with its stream). So the last byte goes as a literal.
        """
        course, drafts = self._course, self._drafts
        if self._surprised or len(data) - sent < _WORTH_SLICING:
            return sent
        if self._expected is None or not course.may_still(self._expected):
            begun = course.recall(data, course.continuation())
            self._expected = None if begun is None else begun.on(sent)
        began = sent
        while (expected := self._expected) is not None and sent < len(data):
            length = len(expected.data)
            n = min(length - expected.at, len(data) - sent)
            same = expected.data.startswith(data[sent : sent + n], expected.at)
            end, crosses = sent + n, expected.at + n == length
            worth = n >= _WORTH_FOLLOWING or sent == began  # more short ones would be too many tokens
            if not same or (end < len(data) and not (worth and course.follows)):
                self._expected, self._surprised = None, True
                break
            if not drafts.draft.may_name(expected.name, length):
                break
            last = end - min(n, crosses)
            self._repeat(expected, data[sent:last])
            drafts.literal(data[last:end])
            sent = end
            if sent < len(data):  # the expected chunk is over, this one is not: it may repeat the next one, too
                course.passed(expected.name, expected.place)
                self._expected = course.continuation()
            else:
                self._expected = expected.on(n)
        return sent
