"""Counters of the data path: plain integers, raised by the loop thread, added up for a snapshot."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from operator import attrgetter


@dataclass(slots=True)
class Traffic:
    """What one stream, or many together, have moved so far. Numbers of bytes unless said otherwise."""

    raw: int = 0
    """Plain bytes that came from arrays here, to be sent to the peer."""
    after_deduplication: int = 0
    """What was left when chunks that the peer holds had been replaced by references."""
    after_compression: int = 0
    """What was left when that had been compressed."""
    compression_microseconds: int = 0
    """Microseconds of CPU time that compression took."""
    literal: int = 0
    """Plain bytes that were sent as data, not as references."""
    spared: int = 0
    """The part of `literal` that was not compressed, because the line carries it sooner as it is."""
    relieved: int = 0
    """The part of `literal` that the peer holds, but would read from its slow store later than it arrives (IST-506)."""
    delivered: int = 0
    """Plain bytes that came from the peer and were written to arrays here."""
    received: int = 0
    """What was received for these: references and data, compressed."""
    from_store: int = 0
    """The part of `delivered` that came from this site's store, verified."""
    verified: int = 0
    """Bytes checked against fingerprints (BLAKE3): read from the store, newly stored, or fetched from the peer."""
    references: int = 0
    """Number of chunks that were sent as references, alone or in runs of several."""
    misses: int = 0
    """Number of chunks, and of lists of the chunks in a run, that this site lacked and asked the peer for."""
    fills: int = 0
    """Number of those that the peer lacked, and this site sent when asked."""
    pdus: int = 0
    """Number of iSCSI PDUs that were understood, both directions together."""
    records: int = 0
    """iSCSI headers that were sent, and data that belongs to no volume, before compression."""
    records_compressed: int = 0
    """What `records` came to after compression."""
    digests_computed: int = 0
    """Number of iSCSI digests that were computed here from verified bytes, instead of being sent."""
    digests_wrong: int = 0
    """Number of data digests that were wrong when they came from an array here. They were passed on as they were."""
    mismatches: int = 0
    """Number of received chunks that did not match their fingerprints. None was stored or used (IST-108)."""

    def as_dict(self) -> dict[str, int]:
        """All counts by name."""
        return dict(zip(_NAMES, _counts(self), strict=True))


_NAMES = tuple(field.name for field in fields(Traffic))
_counts = attrgetter(*_NAMES)  # all at once: a thousand streams are added up once a second


def together(counts: Iterable[Traffic]) -> Traffic:
    """All of them added up."""
    return Traffic(*map(sum, zip(*map(_counts, counts), strict=True)))
