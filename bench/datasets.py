"""Generated volumes: files of many sizes, as compressible and as repetitive as asked, the same for the same seed.

A `Dataset` yields its bytes in buffers and never holds more than one, at gigabytes a second: BLAKE3's extendable
output gives the random bytes, a fixed text of made-up words the rest.

*Compressibility* is what zlib level 6 saves on the whole volume, in percent, within one point. Each page of 4 KiB is a
run of random bytes, then one of text, then one of zeros. To be more compressible, a page has more text and zeros (three
parts to one) in place of random bytes; once no random bytes are left, zeros replace text. *Duplicates* are the bytes of
files that repeat an earlier file byte for byte at another page-aligned offset, in percent of all bytes, within one
point; with 100 %, only the first few files repeat nothing, and those are kept small. A repetition is so far from its
original that zlib does not find it, or it would count as compressible, too. Volumes of less than 8 MiB have too little
room for all that to be exact.
"""

import random
import struct
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from blake3 import blake3

PAGE = 4096
BUFFER_BYTES = 1 << 20
LARGEST_FILE = 4 << 20
MEDIAN_FILE = 64 << 10
SPREAD = 1.3
"""Standard deviation of the logarithm of the files' sizes: most lie between 18 and 230 KiB."""
FEW, FEW_BYTES = 4, 48 << 10
"""Files before the first repetition, and the bytes that they have to come to."""
APART = 33 << 10
"""Bytes from a file to its repetition, at least: zlib looks back 32 KiB."""
KEPT = 1 << 16
"""Files that are remembered to be repeated, at most: of larger volumes a random choice."""
TRIES = 8
TEXT_BYTES = 4 << 20
MAKING_TEXT = threading.Lock()
"""Held while the text is made, which takes a third of a second: otherwise volumes that begin at once each would."""
SYLLABLES = ("al", "ba", "di", "dur", "ent", "gar", "is", "ko", "mel", "ne", "or", "pol", "que", "ra", "ri", "so", "um")


FIELD_KINDS = {"f5vol2": (38, 10), "f5vol3": (1, 0), "f5vol4": (99, 100)}
"""Compressibility and duplicates of the field test's volumes, in percent."""


class Mix(NamedTuple):
    """Bytes of each kind in a page; the rest of it is zeros."""

    random: int
    text: int


KNOTS = (
    (0.00, Mix(4096, 0)),
    (0.56, Mix(4015, 60)),
    (2.41, Mix(3892, 153)),
    (5.81, Mix(3688, 306)),
    (13.02, Mix(3279, 612)),
    (28.15, Mix(2461, 1226)),
    (43.73, Mix(1644, 1839)),
    (60.07, Mix(826, 2452)),
    (78.94, Mix(8, 3066)),
    (90.43, Mix(8, 1226)),
    (95.87, Mix(8, 408)),
    (98.55, Mix(8, 81)),
    (99.60, Mix(8, 0)),
)
"""Measured: what zlib 1.2.13 saves (percent) on 8 MiB of such pages. Between the knots the mix is interpolated. The
eight random bytes that stay to the end keep pages from being alike by chance."""


class File(NamedTuple):
    """A file of a volume: which contents, and how many bytes of them. Repetitions have the number of their original."""

    number: int
    size: int


class Originals:
    """Files that may be repeated."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._files: list[File] = []
        self._places: list[int] = []
        """Where the last occurrence of each begins."""
        self._made = self._bytes = 0

    @property
    def are_few(self) -> bool:
        """Whether there are too few for a repetition to be far enough from its original."""
        return self._made < FEW or self._bytes < FEW_BYTES

    def add(self, size: int, place: int) -> File:
        """A new file, remembered with its place."""
        file = File(self._made, size)
        self._made += 1
        self._bytes += size
        if len(self._files) < KEPT:
            self._files.append(file)
            self._places.append(place)
        else:
            index = self._draw.randrange(KEPT)
            self._files[index], self._places[index] = file, place
        return file

    def repeat(self, place: int) -> File:
        """A file to repeat at `place`: a random one that is far enough away, or failing that the farthest one."""
        for _ in range(TRIES):
            index = self._draw.randrange(len(self._files))
            if place - self._places[index] >= APART:
                break
        else:
            index = min(range(len(self._files)), key=self._places.__getitem__)
        self._places[index] = place
        return self._files[index]


@dataclass(frozen=True)
class Dataset:
    """A volume of `size` bytes; compressibility and duplicates in percent. Iterating it gives its buffers."""

    kind: str
    size: int
    compressibility: float = 0.0
    duplicates: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.size <= 0:
            raise ValueError(f"a volume of {self.size} bytes cannot be generated: give it at least one byte")
        if not KNOTS[0][0] <= self.compressibility <= KNOTS[-1][0]:
            raise ValueError(f"compressibility is a percentage from 0 to {KNOTS[-1][0]}, not {self.compressibility}")
        if not 0 <= self.duplicates <= 100:
            raise ValueError(f"duplicates is a percentage from 0 to 100, not {self.duplicates}")

    def __iter__(self) -> Iterator[bytes]:
        return recut(self._contents(), BUFFER_BYTES)

    def writes(self, size: int) -> Iterator[bytes]:
        """The same bytes in buffers of `size`, the last one shorter."""
        return recut(self._contents(), size)

    def fill(self, file: Path) -> None:
        """Have the file hold the volume, and nothing else; in place, for a sink may have it mapped, a target open."""
        file.touch()
        with file.open("r+b") as opened:
            opened.writelines(self)
            opened.truncate()

    def files(self) -> Iterator[File]:
        """The files in their order; the last one is cut off where the volume ends."""
        sizes = random.Random(f"{self.kind}/{self.seed}/sizes")
        originals = Originals(sizes)
        done = repeated = 0
        while done < self.size:
            if originals.are_few or repeated >= done * self.duplicates / 100:
                file = originals.add(self._size_of_file(sizes), done)
            else:
                file = originals.repeat(done)
                repeated += file.size
            file = file._replace(size=min(file.size, self.size - done))
            done += file.size
            yield file

    def _size_of_file(self, sizes: random.Random) -> int:
        """Bytes of a new file, in whole pages; so few that no single file moves the duplicates by more than a fraction
        of a point."""
        few = ((100 - self.duplicates) / 100 / FEW + 1 / 512) * self.size
        largest = min(LARGEST_FILE, self.size / 128, few)
        pages = min(sizes.lognormvariate(0, SPREAD) * MEDIAN_FILE, largest) // PAGE
        return max(int(pages), 1) * PAGE

    def _contents(self) -> Iterator[bytes]:
        mix = mix_for(self.compressibility)
        for file in self.files():
            contents = blake3(f"{self.kind}/{self.seed}/{file.number}".encode())
            for start in range(0, file.size, BUFFER_BYTES):
                length = min(BUFFER_BYTES, file.size - start)
                pages = pages_of(contents, start // PAGE, -(-length // PAGE), mix)
                yield pages if len(pages) == length else pages[:length]


def field_volumes(size: int) -> list[Dataset]:
    """Volumes of `size` bytes shaped like the three of the field test."""
    return [Dataset(name, size, *kind) for name, kind in FIELD_KINDS.items()]


def mix_for(compressibility: float) -> Mix:
    """The mix of a page that is that compressible (percent)."""
    for (low, at_low), (high, at_high) in pairwise(KNOTS):
        if compressibility <= high:
            part = (compressibility - low) / (high - low)
            return Mix(*(round(a + (b - a) * part) for a, b in zip(at_low, at_high, strict=True)))
    raise ValueError(f"no page is {compressibility} % compressible")


def pages_of(contents: blake3, first: int, count: int, mix: Mix) -> bytes:
    """Pages `first` to `first + count` of the file whose random bytes `contents` gives."""
    width = mix.random + 4
    drawn = contents.digest(length=width * count, seek=width * first)
    text, zeros = text_to_cut() if mix.text else b"", bytes(PAGE - mix.random - mix.text)
    parts: list[bytes] = []
    for at, (place,) in enumerate(struct.iter_unpack(f"<{mix.random}xI", drawn)):
        where = place % (TEXT_BYTES - PAGE)
        parts += (drawn[at * width : at * width + mix.random], text[where : where + mix.text], zeros)
    return b"".join(parts)


def text_to_cut() -> bytes:
    """Words of syllables, some much more frequent than others; zlib saves about 70 % of it."""
    with MAKING_TEXT:
        return _text_to_cut()


@cache
def _text_to_cut() -> bytes:
    draw = random.Random("text")
    words = ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 4))) for _ in range(3000)]
    frequencies = [1 / (rank + 3) for rank in range(len(words))]
    return " ".join(draw.choices(words, frequencies, k=TEXT_BYTES // 6)).encode()[:TEXT_BYTES]


def recut(buffers: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in buffers of `size`, the last one shorter."""
    waiting: list[bytes] = []
    length = 0
    for buffer in buffers:
        start = 0
        while length + len(buffer) - start >= size:
            end = start + size - length
            yield b"".join((*waiting, buffer[start:end]))
            waiting, length, start = [], 0, end
        waiting.append(buffer[start:])
        length += len(buffer) - start
    if length:
        yield b"".join(waiting)
