"""The batches of tests/vectors/reduction.json, which were put together from PROTOCOL.md and not by our encoder."""

import json
from pathlib import Path
from typing import Any

import pytest

from dedupstore.fingerprint import fingerprint
from proxy.reduction.decoder import Decoder
from proxy.reduction.errors import BatchError, CorruptStream
from proxy.reduction.obtaining import Needs
from tests.unit.reduction.batches import hold
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import Site, decoder_of, site
from tests.unit.reduction.span_sites import span_decoder

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "reduction.json").read_text())
ERRORS = {"BatchError": BatchError, "CorruptStream": CorruptStream}


def site_that_holds(chunks: list[str]) -> Site:
    far = site(ShelfStore())
    hold(far, *map(str.encode, chunks))
    return far


def take(decoder: Decoder, step: dict[str, Any]) -> str | None:
    """One step of a stream: what it delivers."""
    if "fill" in step:
        data = bytes.fromhex("".join(step["list"])) if "list" in step else step["data"].encode()
        decoder.obtaining.fill(bytes.fromhex(step["fill"]), data)
        decoded = decoder.advance()
    else:
        decoded = decoder.feed(memoryview(bytes.fromhex(step["batch"])))
    return decoded.data.decode() if decoded else None


@pytest.mark.parametrize("vector", VECTORS["streams"], ids=lambda vector: vector["stream"])
def test_streams(vector: dict[str, Any]) -> None:
    far = site_that_holds(vector["held"])
    decoder = decoder_of(far)
    for step in vector["steps"]:
        assert take(decoder, step) == step["delivers"]
        asks = [bytes.fromhex(name) for name in step.get("asks", [])]
        assert decoder.obtaining.needs() == (Needs(ask=asks) if asks else None)
    decoder.finish(bytes.fromhex(vector.get("end", "")))
    expected = [fingerprint(chunk.encode()) for chunk in vector["held"] + vector["learned"]]
    assert far.store.names == expected


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["name"])
def test_refused(vector: dict[str, Any]) -> None:
    far = site_that_holds(vector["held"])
    with pytest.raises(ERRORS[vector["error"]]):
        decoder_of(far, without=vector.get("without", "")).feed(memoryview(bytes.fromhex(vector["batch"])))
    assert len(far.store.names) == len(vector["held"])


def test_spans() -> None:
    """One direction of an iSCSI connection, batch by batch: everything here is hex."""
    decoder = span_decoder(site(ShelfStore()))
    for step in VECTORS["spans"]:
        decoded = decoder.feed(memoryview(bytes.fromhex(step["batch"])))
        assert decoded is not None, step["says"]
        assert decoded.data.hex() == step["delivers"], step["says"]


@pytest.mark.parametrize("vector", VECTORS["spans_refused"], ids=lambda vector: vector["says"])
def test_spans_refused(vector: dict[str, Any]) -> None:
    """The last of these batches, which begin a direction that may have records."""
    decoder = span_decoder(site(ShelfStore()))
    *before, last = (memoryview(bytes.fromhex(batch)) for batch in vector["batches"])
    for batch in before:
        assert decoder.feed(batch) is not None
    with pytest.raises(BatchError):
        decoder.feed(last)
