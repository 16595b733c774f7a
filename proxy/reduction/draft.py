"""A batch while it is written, and on its way: what it says, and what it refers to."""

from dataclasses import dataclass, field

from dedupstore.store import Place

NAMED_MAX = 3 << 20
"""Bytes of chunks that a batch names at most: the peer may have to ask for them all, and takes no more than 4 MiB."""


@dataclass(slots=True)
class Draft:
    """Loop thread. What is written to it is `Encoder`'s affair, but for chunks that are named."""

    plain: int = 0
    literal: int = 0
    """Of these, bytes that go as they are."""
    tokens: list[bytes] = field(default_factory=list)
    literals: list[bytes] = field(default_factory=list)
    pinned: set[int] = field(default_factory=set)
    learned: list[tuple[bytes, Place]] = field(default_factory=list)
    references: int = 0
    """Tokens that name a chunk."""
    named: set[bytes] = field(default_factory=set)
    """The chunks that these name."""
    named_bytes: int = 0
    """Lengths of these chunks."""

    def may_name(self, name: bytes, length: int, most: int = NAMED_MAX) -> bool:
        """True if tokens may refer to that chunk of so many bytes."""
        return name in self.named or self.named_bytes + length <= most

    def name(self, name: bytes, length: int) -> None:
        """A token refers to that chunk."""
        self.references += 1
        if name not in self.named:
            self.named.add(name)
            self.named_bytes += length


@dataclass(slots=True)
class EncodedBatch:
    """A batch on its way, and what must stay in our store until the peer has consumed it."""

    data: bytes
    plain: int
    """What it costs and END counts: bytes that tokens deliver, and records."""
    literal: int
    """Of these, bytes that go as they are."""
    after_deduplication: int
    """Bytes of tokens, and of literals and records before compression."""
    references: int
    named: set[bytes]
    pinned: set[int]
    learned: list[tuple[bytes, Place]]
