"""Batches made by hand, and what a decoder makes of them."""

from dedupstore.fingerprint import fingerprint
from proxy.reduction.batch import CODEC_NONE, assemble
from proxy.reduction.compression import Compression
from proxy.reduction.decoder import DecodedBatch, Decoder
from proxy.reduction.span_decoder import SpanDecoder
from proxy.reduction.tokens import literal_token, reference_token
from tests.unit.reduction.sites import Site, noise

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


def delivered(decoder: Decoder | SpanDecoder, data: memoryview) -> bytes:
    """What the array is given when that batch comes."""
    return bytes_of(decoder.feed(data))


def advanced(decoder: Decoder | SpanDecoder) -> bytes:
    """What the array is given now that the stream can go on."""
    return bytes_of(decoder.advance())


def bytes_of(decoded: DecodedBatch | None) -> bytes:
    assert decoded is not None
    return decoded.data


def encoded(compression: Compression, literals: bytes) -> tuple[int, bytes]:
    """What becomes of them when they come in two pieces."""
    middle = len(literals) // 2
    codec, pieces = compression.encode((literals[:middle], literals[middle:]), len(literals))
    return codec, b"".join(pieces)
