"""The counters of a snapshot that trends are made of, as one flat row in which each has a name."""

from proxy.observe.snapshot import PeerStatus, ShareStatus, Snapshot, StoreStatus


def lane_counter(peer: str, lane: int, what: str) -> str:
    """Name of a lane's counter: "sent", "retransmitted" or "received"."""
    return f"lane {peer} {lane} {what}"


def peer_counter(peer: str, what: str) -> str:
    """Name of a peer's counter: "outages" (those that it did not cause by ending in order), or a key of its bytes."""
    return f"peer {peer} {what}"


def share_counter(share: str, what: str) -> str:
    """Name of a counter of a forward or export, of all peers: "wire", or one of OF_SHARES."""
    return f"{share} {what}"


def held_counter(peer: str, share: str) -> str:
    """Name of the counter of seconds for which data of a forward or export to that peer was held back."""
    return f"peer {peer} {share} held"


def limited_counter(peer: str, share: str) -> str:
    """Name of the counter of those of these seconds for which the forward's or export's own maximum held it back."""
    return f"peer {peer} {share} limited"


def store_counter(what: str) -> str:
    """Name of a counter of the store, as in the status."""
    return f"store {what}"


OF_SHARES = "raw", "delivered", "after_deduplication", "after_compression", "spared", "relieved"
"""Bytes of a share that history and warnings look at; no others, since a hub has hundreds of shares, and trends keep
120 rows."""
REFUSED_COUNTER = "tunnel listener refused"
"""Name of the counter of connections that the tunnel listener refused."""


def counters(snapshot: Snapshot) -> dict[str, float]:
    """The snapshot's counters by name."""
    row: dict[str, float] = {}
    _count_store(row, snapshot.store)
    row[REFUSED_COUNTER] = snapshot.refused
    for peer in snapshot.peers:
        _count_peer(row, peer)
        for share in peer.shares:
            _count_share(row, share)
            if share.held_seconds:  # a trend takes a missing counter for 0
                row[held_counter(peer.name, share.name)] = share.held_seconds
                row[limited_counter(peer.name, share.name)] = share.held_by_maximum_seconds
    return row


def _count_store(row: dict[str, float], store: StoreStatus) -> None:
    row[store_counter("invalid")] = store.invalid
    row[store_counter("unlearned_bytes")] = store.unlearned_bytes
    row[store_counter("evicted_bytes")] = store.evicted_bytes


def _count_peer(row: dict[str, float], peer: PeerStatus) -> None:
    row |= {peer_counter(peer.name, what): count for what, count in peer.bytes.items()}
    row[peer_counter(peer.name, "outages")] = peer.outages - peer.shutdowns
    for lane in peer.lanes:
        row[lane_counter(peer.name, lane.number, "sent")] = lane.bytes_sent
        row[lane_counter(peer.name, lane.number, "retransmitted")] = lane.bytes_retransmitted
        row[lane_counter(peer.name, lane.number, "received")] = lane.bytes_received


def _count_share(row: dict[str, float], share: ShareStatus) -> None:
    """Add up by name: an export has a share for each of its peers."""
    wire = share_counter(share.name, "wire")
    row[wire] = row.get(wire, 0.0) + share.wire_bytes
    for what in OF_SHARES:
        name = share_counter(share.name, what)
        row[name] = row.get(name, 0.0) + share.bytes[what]
