"""What the store hears of ahead, while a stream waits for a chunk that has to be loaded."""

from dedupstore.fingerprint import fingerprint
from proxy.reduction.tokens import literal_token, reference_token
from tests.unit.reduction.batches import batch, hold
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import Site, decoder_of, noise, site


def cold_site(count: int) -> tuple[Site, list[bytes]]:
    """A site that has so many chunks of 1,000 bytes on its disk, each in a container of its own; and their names."""
    far = site(ShelfStore(entries=1))
    chunks = [noise(1000, seed) for seed in range(count)]
    hold(far, *chunks)
    far.store.cold = True
    return far, [fingerprint(chunk) for chunk in chunks]


def test_the_store_hears_what_the_stream_wants_behind_a_chunk_that_has_to_be_loaded() -> None:
    """Of the same batch first, then of those that have come behind it: these once for each batch."""
    far, names = cold_site(6)
    references = [reference_token(name) for name in names]
    decoder = decoder_of(far)
    decoder.keep(batch(*references[:3], plain=3000))
    decoder.keep(batch(literal_token(2), *references[3:5], literals=b"ab", plain=2002))
    decoder.keep(batch(references[5], plain=1000))
    heard = []
    for name in names:
        decoded = decoder.advance()
        if decoded is not None:  # that batch was had in the end
            decoded = decoder.advance()
        assert decoded is None
        needs = decoder.obtaining.needs()
        assert needs is not None
        assert needs.load == name
        heard.append([names.index(each) for each in needs.soon])
        far.store.load(name)
    assert heard == [[1, 2, 3, 4, 5], [2], [], [4, 5], [], []]


def test_the_store_hears_of_no_more_than_that_of_one_stream() -> None:
    far, names = cold_site(50)
    decoder = decoder_of(far)
    assert decoder.feed(batch(*map(reference_token, names), plain=50_000)) is None
    needs = decoder.obtaining.needs()
    assert needs is not None
    assert needs.soon == names[1:33]


def test_the_store_hears_only_of_what_is_found_at_once() -> None:
    """One stream that waits for its disk would keep all others from the loop while it looks over its literals."""
    far, names = cold_site(3)
    decoder = decoder_of(far)
    for at, name in zip((0, 127, 0), names, strict=True):
        decoder.keep(batch(*[literal_token(1)] * at, reference_token(name), literals=bytes(at), plain=at + 1000))
    assert decoder.advance() is None
    needs = decoder.obtaining.needs()
    assert needs is not None
    assert needs.soon == names[1:2]
