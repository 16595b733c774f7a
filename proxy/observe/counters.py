"""Counters of the data path: plain integers, raised by the loop thread, added up for a snapshot."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from operator import attrgetter


@dataclass(slots=True)
class Traffic:
    """Bytes of one stream, or of many added up. "Sent" is from a local array towards the peer."""

    raw: int = 0
    """Plain bytes read from local arrays, to be sent."""
    after_deduplication: int = 0
    """Of these, what tokens and literal bytes came to before compression."""
    after_compression: int = 0
    """Of these, what batches came to after compression."""
    compression_microseconds: int = 0
    """Of CPU, spent in it."""
    literal: int = 0
    """Plain bytes that went as literals, not as references."""
    spared: int = 0
    """Of these, what was not compressed because the line carries it sooner as it is."""
    relieved: int = 0
    """Likewise, what the peer holds, and its store would have given later than the line carries it."""
    delivered: int = 0
    """Plain bytes received from the peer and written to local arrays."""
    received: int = 0
    """Batch bytes received for them."""
    from_store: int = 0
    """Delivered bytes that came verified from the store."""
    verified: int = 0
    """Bytes whose BLAKE3 was checked against a fingerprint: from the store, learned, or filled."""
    references: int = 0
    """Chunks sent as references, one by one or in runs."""
    misses: int = 0
    """Chunks, and lists of chunks, that we had to ask the peer for."""
    fills: int = 0
    """Chunks, and lists of chunks, that we sent because the peer lacked them."""
    pdus: int = 0
    """iSCSI PDUs that were understood, in either direction."""
    records: int = 0
    """Bytes of records sent: their headers, and data that belongs to no volume."""
    records_compressed: int = 0
    """What these came to after compression."""
    digests_computed: int = 0
    """iSCSI digests that were written here, from verified bytes, instead of being sent."""
    digests_wrong: int = 0
    """Data digests that were wrong when a local array's PDU arrived; they are passed on as they are."""
    mismatches: int = 0
    """Received chunks that failed verification; none of them was stored or used."""

    def as_dict(self) -> dict[str, int]:
        """All counts by name."""
        return dict(zip(_NAMES, _counts(self), strict=True))


_NAMES = tuple(field.name for field in fields(Traffic))
_counts = attrgetter(*_NAMES)  # all at once: a thousand streams are added up once a second


def together(counts: Iterable[Traffic]) -> Traffic:
    """All of them added up."""
    return Traffic(*map(sum, zip(*map(_counts, counts), strict=True)))
