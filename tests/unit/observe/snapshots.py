"""Snapshots for tests: a healthy site with one peer, lane and forward; `changed` replaces what a test is about."""

from dataclasses import fields, replace
from typing import Any

from proxy.observe.counters import Traffic
from proxy.observe.snapshot import (
    CertificateStatus,
    LaneStatus,
    PeerStatus,
    ShareStatus,
    Snapshot,
    StoreStatus,
    StreamStatus,
    VerdictStatus,
)
from proxy.observe.waiting import Waiting

NOW = 1_800_000_000.0
YEAR = 365 * 86400.0
VERDICT = VerdictStatus("source idle", 1.0, "no array is connected")


def traffic(**counts: int) -> dict[str, int]:
    """Bytes of a share or stream; of a peer or site with the wire's."""
    return Traffic().as_dict() | counts


def of_peer(**counts: int) -> dict[str, int]:
    return traffic(wire=0, wire_retransmitted=0, wire_received=0) | counts


def lane(**changes: Any) -> LaneStatus:
    return replace(LaneStatus(1, "192.0.2.2:4500", True, 0, "bbr", 0.05, 10, 1448, False, 0, 0, 0), **changes)


def share(**changes: Any) -> ShareStatus:
    plain = ShareStatus("forward replication", "normal", None, None, 0, 0, 0, 0.0, traffic())
    return replace(plain, **changes)


def peer(**changes: Any) -> PeerStatus:
    plain: dict[str, Any] = {
        "name": "west",
        "state": "up",
        "known_seconds": 3600.0,
        "lanes": [lane()],
        "round_trip_seconds": 0.05,
        "bytes": of_peer(),
        "verdict": VERDICT,
        "waiting_seconds": {waiting.value: 0.0 for waiting in Waiting},
        "rate_bits_per_second": None,
        "held_seconds": 0.0,
        "shares": [share()],
        "volumes": [],
        "on_demand": [],
        "advice": None,
        "last_error": "",
        "references_suspended": False,
        "store_bytes_per_second": None,
        "short_packets": False,
        "other_congestion_control": "",
        "drains": "",
        "ended_seconds": None,
        "farewell": "",
        "ended_streams": {},
        "refused_streams": {"unreachable": 0, "not_exported": 0},
        "refusals": [],
        "fallbacks": {},
        "portals": {"rewritten": 0, "passed": 0},
    }
    return PeerStatus(**{field.name: 0 for field in fields(PeerStatus)} | plain | changes)


def down(**changes: Any) -> PeerStatus:
    """A peer whose last lane was lost."""
    lost: dict[str, Any] = {"state": "outage", "lanes": [], "outages": 1, "streams": 3, "last_error": "reset by peer"}
    return peer(**lost | changes)


def stream(**changes: Any) -> StreamStatus:
    plain: dict[str, Any] = {
        "id": 1,
        "peer": "west",
        "forward": "replication",
        "export": None,
        "origin": "10.0.0.1:5000",
        "initiator": None,
        "target": None,
        "direction": "outward",
        "age_seconds": 1.0,
        "compression": "zstd 1",
        "bytes": traffic(),
        "sent_bits_per_second": 0.0,
        "delivered_bits_per_second": 0.0,
        "verdict": VERDICT,
        "waiting_seconds": {},
    }
    return StreamStatus(**plain | changes)


def store(**changes: Any) -> StoreStatus:
    plain: dict[str, Any] = {
        "mode": "memory",
        "size_bytes": 1 << 30,
        "used_bytes": 1 << 29,
        "chunks": 1000,
        "oldest_seconds": 60.0,
        "hits_by_age": [0] * 10,
        "missed_by_size": [(2, 0.0), (4, 0.0), (8, 0.0)],
        "alarms": [],
        "prepared": True,
    }
    return StoreStatus(**{field.name: 0 for field in fields(StoreStatus)} | plain | changes)


def with_peer(**changes: Any) -> Snapshot:
    """Of a site with one peer, whose status has changed so."""
    return changed(peers=[peer(**changes)])


def changed(**changes: Any) -> Snapshot:
    plain: dict[str, Any] = {
        "site": "east",
        "version": "0",
        "started": NOW - 3600,
        "uptime_seconds": 3600.0,
        "ready": True,
        "draining": False,
        "peers": [peer()],
        "streams": [],
        "store": store(),
        "bytes": of_peer(),
        "refused": 0,
        "last_refusal": "",
        "certificates": [CertificateStatus("own", "east", NOW + YEAR), CertificateStatus("peer", "west", NOW + YEAR)],
        "reload_problem": "",
        "processor_share": 0.1,
        "alarms": [],
    }
    return Snapshot(**plain | changes)
