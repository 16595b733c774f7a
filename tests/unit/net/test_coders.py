"""How a stream is reduced, by what its forward says and what the peer knows."""

from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dedupstore.chunker import Chunker
from proxy.net import coders
from proxy.net.coders import Carries, CoderFactory, SpanCoders
from proxy.net.environment import Environment
from proxy.observe.volumes import Volumes
from proxy.protocol.codes import Capability
from proxy.protocol.tunnel import Tunnel
from proxy.reduction.adaptive import AdaptiveCompression
from proxy.reduction.beginnings import Beginnings
from proxy.reduction.effort import Effort
from proxy.reduction.encoder import Encoder
from proxy.reduction.load import CompressionLoad, Measured
from proxy.reduction.relief import Relief
from proxy.reduction.span_encoder import SpanEncoder
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import site

WITHOUT = "the peer's version does not know iSCSI"


def coder_factory(
    capabilities: set[Capability],
    level: int | str = 1,
    codec: str = "none",
    *,
    capped: bool = False,
    writers: Iterator[int] | None = None,
) -> CoderFactory:
    compression = SimpleNamespace(codec=codec, level=level)
    environment: Any = SimpleNamespace(
        worker=SimpleNamespace(store=ShelfStore(), is_silent=lambda: False),
        chunker=Chunker(),
        config=SimpleNamespace(compression=compression),
        beginnings=Beginnings(1),
        load=CompressionLoad(),
        writers=writers or count(),
    )
    tunnel: Any = SimpleNamespace(
        agreed=capabilities.__contains__,
        streams=SimpleNamespace(remembers=0, pressed=lambda stream: False),
        round_trip=0.0,
        scheduler=SimpleNamespace(capped=capped),
    )
    return CoderFactory(cast(Environment, environment), cast(Tunnel, tunnel), lambda: 1, Relief(), Volumes())


@pytest.mark.parametrize(
    ("protocol", "known", "told"),
    [
        ("iscsi", set(), [(WITHOUT, False)]),
        ("iscsi", {Capability.SPANS, Capability.ZSTD}, []),
        ("iscsi", {Capability.SPANS}, [(WITHOUT, False)]),
        ("iscsi", {Capability.ZSTD}, [(WITHOUT, False)]),
        ("auto", set(), []),
        ("tcp", set(), []),
        (None, set(), []),
    ],
)
def test_a_peer_that_does_not_know_iscsi(
    protocol: Carries | None, known: set[Capability], told: list[tuple[str, bool]]
) -> None:
    """Who has asked for it is told, once a stream. Records that cannot be compressed may be longer than a batch."""
    fallbacks: list[tuple[str, bool]] = []
    made = coder_factory(known).coders(
        2, site(ShelfStore()).holdings, protocol, "forward x", lambda *why: fallbacks.append(why)
    )
    assert fallbacks == told
    assert isinstance(made, SpanCoders) == isinstance(made.encoder, SpanEncoder) == (len(known) == 2)


@pytest.mark.parametrize("capped", [False, True])
def test_streams_of_a_tunnel_leave_compression_out_together(monkeypatch: pytest.MonkeyPatch, capped: bool) -> None:
    """Once it holds one of them up; but not where there is a cap."""
    efforts: list[Effort] = []

    def noted(effort: Effort, *rest: Any) -> AdaptiveCompression:
        efforts.append(effort)
        return AdaptiveCompression(effort, *rest)

    monkeypatch.setattr(coders, "AdaptiveCompression", noted)
    factory = coder_factory({Capability.ZSTD}, "auto", "zstd", capped=capped)
    for stream in (2, 4):
        factory.coders(stream, site(ShelfStore()).holdings, "tcp", "forward x", lambda *why: None)
    for tick in range(300):
        for effort in efforts:
            effort.turn(tick * 0.01, tick * 0.01)
        efforts[0].note(Measured(1000, 500, 0.005, 0.005), pressed=False, now=tick * 0.01)
    efforts[1].note(Measured(1000, 500, 0.005, 0.005), pressed=False, now=3.0)
    assert [effort.spares for effort in efforts] == [not capped] * 2


def test_streams_of_all_peers_fill_containers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two peers' streams may have the same number, and those that the two sides open numbers side by side."""
    used: list[int] = []

    def noted(*rest: Any) -> Encoder:
        used.append(rest[4])
        return Encoder(*rest)

    monkeypatch.setattr(coders, "Encoder", noted)
    writers = count()
    for peer in (coder_factory(set(), writers=writers), coder_factory(set(), writers=writers)):
        for stream in (2, 3):
            peer.coders(stream, site(ShelfStore()).holdings, "tcp", "forward x", lambda *why: None)
    assert len(set(used)) == 4
