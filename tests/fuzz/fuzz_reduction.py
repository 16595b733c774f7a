"""Any bytes are tokens, a batch, or a stream of batches and fills, or they are refused with the error declared for it.

    python tests/fuzz/fuzz_reduction.py [CORPUS] [-max_total_time=SECONDS]

Coverage-guided, by atheris; what CORPUS holds is where it begins. The first byte of an input chooses what it is taken
for. `test_fuzz_reduction.py` gives it a short run.
"""

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[2]))

with atheris.instrument_imports(include=["proxy.reduction", "proxy.iscsi"]):
    from proxy.reduction.batch import BATCH_PLAIN_MAX, dissect
    from proxy.reduction.compression import decode
    from proxy.reduction.contexts import ContextReader
    from proxy.reduction.decoder import DecodedBatch, Decoder
    from proxy.reduction.errors import BatchError, CorruptStream
    from proxy.reduction.tokens import parse
    from proxy.reduction.windows import WINDOWS_MAX, ContextMemory

from dedupstore.fingerprint import fingerprint
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import Site, decoder_of, site
from tests.unit.reduction.span_sites import span_decoder

HELD = [b"A chunk that both sites have known for long.", bytes(5000)]
NEW = [b"Another chunk, which is new.", b"A third one, stored behind it.", b"\x01" * 700]
LIST = b"".join(map(fingerprint, NEW[:2]))
"""Of a run that the vectors have."""
FILLS = {fingerprint(answer): answer for answer in (*NEW, LIST)}
FRAME_BEGUN = bytes.fromhex("28b52ffd 00 78 080000 61")
BEGINNING = bytes.fromhex("00000031 10 000000 00000000 31 08 08 90430001 00870000")
"""A login, which begins a direction with records."""
MEMORY_MAX = 64 << 20
"""What one input may take. A kept batch is as long as the input, one at work delivers 512 KiB and names 4 MiB."""


def one_token_list(content: bytes) -> None:
    """Tokens that were parsed count something."""
    for opcode, n, offset, name in parse(content):
        assert 1 <= opcode <= 6
        assert n > 0 or len(name) == 32
        assert 0 <= offset < 1 << 32


def one_batch(content: bytes) -> None:
    """A batch that passes has the lengths that it declares."""
    batch = dissect(memoryview(content))
    literals = decode(batch.codec, batch.literals, batch.literal_length)
    assert len(literals) == batch.literal_length <= batch.plain <= BATCH_PLAIN_MAX


def one_stream(content: bytes) -> None:
    """Steps of a peer, each with two bytes of length: a batch, a batch while the array rests, a fill, an end."""
    far = site_with_chunks()
    decoder = decoder_of(far)
    total = 0
    try:
        for kind, payload in steps(content):
            for decoded in STEPS[kind % len(STEPS)](decoder, payload):
                total += len(decoded.data)
    finally:
        assert decoder.total == total
        for name in far.store.names:
            data = far.store.read(name)
            assert data is not None
            assert fingerprint(data) == name


def site_with_chunks() -> Site:
    far = site(ShelfStore(containers=4))
    for chunk in HELD:
        place = far.store.put(fingerprint(chunk), chunk)
        assert place is not None
        far.holdings.add(place)
    return far


def steps(content: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 3 <= len(content):
        length = int.from_bytes(content[at + 1 : at + 3])
        yield content[at], content[at + 3 : at + 3 + length]
        at += 3 + length


def batch_comes(decoder: Decoder, payload: bytes) -> Iterator[DecodedBatch]:
    decoded = decoder.feed(memoryview(payload))
    if decoded is not None:
        yield decoded


def array_reads(decoder: Decoder, payload: bytes) -> Iterator[DecodedBatch]:
    if payload:
        decoder.keep(memoryview(payload))
    while (decoded := decoder.advance()) is not None:
        yield decoded


def fills_come(decoder: Decoder, payload: bytes) -> Iterator[DecodedBatch]:
    """An honest answer where there is one; otherwise the input's."""
    needs = decoder.obtaining.needs()
    for name in needs.ask if needs else [payload[:32]]:
        decoder.obtaining.fill(name, FILLS.get(name, payload))
    yield from array_reads(decoder, b"")


def end_comes(decoder: Decoder, payload: bytes) -> Iterator[DecodedBatch]:
    decoder.finish(payload)
    yield from ()


def context_goes_on(content: bytes) -> None:
    """Batches of one frame that has begun with the widest window; a step's first byte says what it declares."""
    memory = ContextMemory()
    context = ContextReader(memory)
    try:
        context.decode(FRAME_BEGUN, 1)
        for kind, payload in steps(content):
            length = kind << 4 | 1
            assert len(context.decode(payload, length)) == length
            assert memory.used <= WINDOWS_MAX
    finally:
        context.close()
        assert memory.used == 0


def one_woven_stream(content: bytes) -> None:
    """Batches with records: what is woven is bounded by what they cost. The shortest record stands for 7 bytes."""
    decoder = span_decoder(site_with_chunks())
    woven = 0
    for kind, payload in steps(content):
        before = decoder.total
        decoded = decoder.feed(memoryview(payload if kind else BEGINNING))
        if decoded is not None:
            woven += len(decoded.data)
            assert len(decoded.data) <= (decoder.total - before) * 8
    assert woven <= decoder.total * 8


STEPS: list[Callable[[Decoder, bytes], Iterator[DecodedBatch]]] = [batch_comes, array_reads, fills_come, end_comes]
TARGETS: list[Callable[[bytes], None]] = [one_token_list, one_batch, one_stream, context_goes_on, one_woven_stream]


def one_input(content: bytes) -> None:
    """Take it for what its first byte says."""
    if not content:
        return
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    with suppress(BatchError, CorruptStream):
        TARGETS[content[0] % len(TARGETS)](content[1:])
    _, peak = tracemalloc.get_traced_memory()
    if peak - before > MEMORY_MAX:
        raise AssertionError(f"{peak - before} bytes of memory for an input of {len(content)}")


if __name__ == "__main__":
    tracemalloc.start()
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
