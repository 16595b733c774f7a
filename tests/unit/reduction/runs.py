"""Chunks that lie one after another in a store, as a peer may refer to them in one token."""

from dedupstore.fingerprint import fingerprint
from proxy.reduction.tokens import (
    reference_token,
    run_token,
)
from tests.unit.reduction.batches import hold
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import DATA, Site, Stream, encoder_of, noise, send, site, two_sites

CHUNKS = [noise(1000, seed) for seed in range(9)]
NAMES = [fingerprint(chunk) for chunk in CHUNKS]
FIRST = reference_token(NAMES[0])


def run_of(*names: bytes) -> tuple[bytes, bytes, bytes]:
    """The token for a run of these, its name, and its list."""
    listed = b"".join(names)
    return run_token(len(names), fingerprint(listed)), fingerprint(listed), listed


def mostly_cold(entries: int) -> Site:
    """A site with all chunks, so many in each container, of which the first one is in memory."""
    far = site(ShelfStore(entries=entries))
    hold(far, *CHUNKS)
    far.store.cold = True
    far.store.load(NAMES[0])
    return far


def known(entries: int = 100) -> tuple[Site, Site]:
    """Sites that have exchanged DATA."""
    near, far = two_sites(ShelfStore(entries=entries), ShelfStore(entries=entries))
    send(near, far, [DATA])
    return near, far


def written(near: Site, far: Site, data: bytes = DATA, *, runs: bool = True) -> Stream:
    """A stream with that data on its way."""
    stream = Stream(near, far)
    if not runs:
        stream.encoder = encoder_of(near, runs=False)
    stream.write(data)
    stream.finish()
    return stream


def out_of_order() -> tuple[Site, Site]:
    """Sites that have exchanged DATA, but the far store holds it the other way round."""
    near, _ = known()
    far = site(ShelfStore(entries=100))
    for name in reversed(near.store.names):
        chunk = near.store.read(name)
        assert chunk is not None
        hold(far, chunk)
    return near, far
