"""How a stream is reduced, by what its forward says and what the peer knows."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from dedupstore.chunker import Chunker
from proxy.net.coders import Carries, Workbench
from proxy.net.environment import Environment
from proxy.net.tally import Tally
from proxy.observe.volumes import Volumes
from proxy.protocol.codes import Capability
from proxy.protocol.tunnel import Tunnel
from proxy.reduction.beginnings import Beginnings
from proxy.reduction.spans import SpanEncoder
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import site

WITHOUT = "the peer's version does not know iSCSI"


def workbench(capabilities: set[Capability]) -> Workbench:
    compression = SimpleNamespace(codec="none", level=1)
    environment: Any = SimpleNamespace(
        worker=SimpleNamespace(store=ShelfStore(), is_silent=lambda: False),
        chunker=Chunker(),
        config=SimpleNamespace(compression=compression),
        beginnings=Beginnings(1),
    )
    tunnel: Any = SimpleNamespace(agreement=SimpleNamespace(capabilities=capabilities), remembers=0)
    return Workbench(cast(Environment, environment), cast(Tunnel, tunnel), lambda: 1)


@pytest.mark.parametrize(
    ("protocol", "known", "told"),
    [
        ("iscsi", set(), [(WITHOUT, False)]),
        ("iscsi", {Capability.SPANS}, []),
        ("auto", set(), []),
        ("tcp", set(), []),
        (None, set(), []),
    ],
)
def test_a_peer_that_does_not_know_iscsi(
    protocol: Carries | None, known: set[Capability], told: list[tuple[str, bool]]
) -> None:
    """Who has asked for it is told, once a stream."""
    fallbacks: list[tuple[str, bool]] = []
    coders = workbench(known).coders(
        2, site(ShelfStore()).holdings, protocol, Tally(Volumes(), "forward x"), lambda *why: fallbacks.append(why)
    )
    assert fallbacks == told
    assert isinstance(coders.encoder, SpanEncoder) == bool(known)
