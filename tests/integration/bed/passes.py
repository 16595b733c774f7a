"""Passes of a replication through a pair, and what they cost."""

from tests.integration.bed.contents import cut
from tests.integration.bed.ends import receipt, send, whole
from tests.integration.bed.sites import Pair, ends, wire_bytes

WRITE = 256 << 10


def replicate(pair: Pair, content: bytes) -> None:
    """One pass, which has to arrive, byte for byte."""
    sending = send(cut(content, WRITE), pair.entrance)
    whole(receipt(content), sending, why=lambda: [ends(site) for site in pair.sites])


def cost(pair: Pair, content: bytes) -> float:
    """One pass: the bytes that east sent on the wire, for each plain one."""
    before = wire_bytes(pair.east)
    replicate(pair, content)
    return (wire_bytes(pair.east) - before) / len(content)
