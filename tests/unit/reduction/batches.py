"""Batches made by hand, and what a decoder makes of them."""

from dedupstore.fingerprint import fingerprint
from proxy.reduction.batch import CODEC_NONE, assemble
from proxy.reduction.compression import Compression
from proxy.reduction.decoder import Decoder
from proxy.reduction.tokens import literal_token, reference_token
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import Site, noise, site

CHUNK = noise(1000, 1)
NAME = fingerprint(CHUNK)
OTHER = noise(500, 2)
OTHER_NAME = fingerprint(OTHER)
WHOLE = reference_token(NAME)


def batch(*tokens: bytes, literals: bytes = b"", plain: int = 0) -> memoryview:
    """A batch of those tokens; it delivers as many bytes as literals, or as said."""
    return memoryview(assemble(plain or len(literals), CODEC_NONE, b"".join(tokens), len(literals), [literals]))


def literal(data: bytes) -> bytes:
    return literal_token(len(data))


def hold(site: Site, *chunks: bytes) -> None:
    """Those chunks have been exchanged with the peer."""
    for chunk in chunks:
        place = site.store.put(fingerprint(chunk), chunk)
        assert place is not None
        site.holdings.add(place)


def site_with_chunk() -> Site:
    """A site that has exchanged CHUNK with the peer."""
    far = site(ShelfStore())
    hold(far, CHUNK)
    return far


def delivered(decoder: Decoder, data: memoryview) -> bytes:
    decoded = decoder.feed(data)
    assert decoded is not None
    return decoded.data


def encoded(compression: Compression, literals: bytes) -> tuple[int, bytes]:
    """What becomes of them when they come in two pieces."""
    middle = len(literals) // 2
    codec, pieces = compression.encode((literals[:middle], literals[middle:]), len(literals))
    return codec, b"".join(pieces)
