"""A batch on its way out, from its first token until the peer has consumed it: its content, and what it refers to."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dedupstore.fingerprint import fingerprint
from dedupstore.store import Place
from proxy.reduction.tokens import RUN_MIN, reference_token, run_token

NAMED_MAX = 3 << 20
"""Bytes of chunks that a batch names at most: the peer may have to ask for them all, and takes no more than 4 MiB
(`obtaining.KEPT_MAX`)."""

_NOWHERE = (0, 0)


@dataclass(slots=True)
class OutgoingBatch:
    """`Drafts` writes to it, except for what `name` and `refer` note. Loop thread."""

    plain: int = 0
    """Bytes that END counts: those that tokens deliver and, once the batch is taken, those of records."""
    literal: int = 0
    """Bytes of these that are literals."""
    records: int = 0
    """Bytes of these that are records."""
    tokens: list[bytes] = field(default_factory=list)
    """Encoded; empty strings stand where references are still to be written: see `referring`."""
    referring: list[tuple[int, list[bytes]]] = field(default_factory=list)
    """References that `write` puts into `tokens`: at which index, and to which chunks; to several if the store holds
    them one after another."""
    behind: tuple[int, int] = _NOWHERE  # the place behind the chunk that was referred to last
    literals: list[bytes] = field(default_factory=list)
    pinned: set[int] = field(default_factory=set)
    """Containers that must stay in our store until the peer has consumed the batch."""
    learned: list[tuple[bytes, Place]] = field(default_factory=list)
    references: int = 0
    """How often tokens refer to a chunk; complete once they are written."""
    named: set[bytes] = field(default_factory=set)
    """Names that tokens refer to: of chunks and, once they are written, of runs."""
    lists: dict[bytes, bytes] = field(default_factory=dict)
    """By a run's name: the fingerprints of its chunks."""
    named_bytes: int = 0
    """Bytes of the chunks in `named` together."""
    after_deduplication: int = 0
    """Bytes of tokens, and of literals and predicted records before compression. Set, as `data` is, when it is taken.
    """
    data: bytes = b""

    @property
    def known(self) -> int:
        """Bytes that the peer has to find: what references and slices deliver."""
        return self.plain - self.literal - self.records

    def may_name_all(self, names: Sequence[bytes], length: int) -> bool:
        """True if tokens may refer to these chunks, `length` bytes together; False if it has to be asked of each."""
        return self.named_bytes + length <= NAMED_MAX and self.named.isdisjoint(names)

    def may_name(self, name: bytes, length: int, most: int = NAMED_MAX) -> bool:
        """True if tokens may refer to that chunk of `length` bytes. `most`: bytes of all chunks that are named."""
        return name in self.named or self.named_bytes + length <= most

    def name(self, name: bytes, length: int) -> None:
        """Note that a SLICE refers to that chunk of `length` bytes."""
        self.references += 1
        if name not in self.named:
            self.named.add(name)
            self.named_bytes += length

    def refer(self, names: Sequence[bytes], place: Place, length: int) -> None:
        """Note references to whole chunks, `length` bytes together, that are stored one after another from `place` on.

        If they are several, none of them is named yet.
        """
        if names[0] not in self.named:
            self.named.update(names)
            self.named_bytes += length
        self.plain += length
        if place == self.behind and not self.tokens[-1]:
            self.referring[-1][1].extend(names)
        else:
            self.referring.append((len(self.tokens), [*names]))
            self.tokens.append(b"")
        self.behind = place[0], place[1] + len(names)

    def write(self, runs: int) -> bytes:
        """All tokens, encoded, with at most `runs` RUNs. To be called once."""
        for at, names in self.referring:
            self.references += len(names)
            if len(names) > RUN_MIN and len(self.lists) < runs:
                listed = b"".join(names[1:])
                run = fingerprint(listed)
                self.lists[run] = listed
                self.tokens[at] = reference_token(names[0]) + run_token(len(names) - 1, run)
            else:
                self.tokens[at] = b"".join([reference_token(name) for name in names])
        if self.lists:
            self.named.update(self.lists)
        return b"".join(self.tokens)
