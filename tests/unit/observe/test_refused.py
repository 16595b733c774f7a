"""Connections that cannot be made are a reason on the ladder and an event, at both sites; a metric counts them."""

import pytest

from proxy.observe.answers import Level
from proxy.observe.codes import EXPORT_UNREACHABLE
from proxy.observe.snapshot import RefusalStatus
from tests.unit.observe.exposition import samples
from tests.unit.observe.snapshots import changed, with_peer
from tests.unit.observe.watched import Site

NO = "cannot connect to 10.0.0.5:3260: Connection refused"


def refusal(
    share: str = "export array", asked: str = "10.0.0.5:3260", reason: str = "unreachable", seconds: float = 0.0
) -> RefusalStatus:
    words = NO if reason == "unreachable" else "'array' is not exported to east"
    return RefusalStatus(share, asked, reason, words, 1, seconds)


@pytest.mark.parametrize(
    ("found", "code", "level", "words"),
    [
        (refusal(), "IST-112", Level.DEGRADED, f"connections from west to export array fail: {NO}"),
        (
            refusal("forward replication", "array"),
            "IST-112",
            Level.DEGRADED,
            f"west refuses connections of forward replication to its export array: {NO}",
        ),
        (
            refusal("forward replication", "array", "not_exported"),
            "IST-113",
            Level.DEGRADED,
            "west refuses connections of forward replication to its export array: 'array' is not exported to east",
        ),
        (
            refusal("", "", "not_exported"),
            "IST-113",
            Level.ATTENTION,
            "west asks for what it may not have: 'array' is not exported to east",
        ),
    ],
    ids=["array is down", "at the forward", "forward asks wrongly", "at the exporting site"],
)
def test_refused_connections_are_told_until_one_succeeds(
    found: RefusalStatus, code: str, level: Level, words: str
) -> None:
    site = Site()
    site.pass_(with_peer(refusals=[found]), 30)
    assert (site.level, site.reasons, site.words) == (level, [code], words)
    assert site.told == ["IST-101", code]
    (event,) = site.said(code)
    (reason,) = site.watch.health.peers[0].reasons
    assert (event.subject, event.words, event.remedy) == ("peer west", words, reason.remedy)
    site.pass_(changed())
    assert (site.level, site.reasons) == (Level.HEALTHY, [])


def test_what_nobody_has_tried_for_ten_minutes_is_over() -> None:
    site = Site(with_peer(refusals=[refusal(seconds=599.0)]))
    assert site.reasons == [EXPORT_UNREACHABLE.code]
    site.pass_(with_peer(refusals=[refusal(seconds=600.0)]))
    assert (site.level, site.reasons) == (Level.HEALTHY, [])


def test_each_export_that_fails_is_told_once() -> None:
    site = Site()
    first, second = refusal(), refusal("export other", "10.0.0.6:3260")
    site.pass_(with_peer(refusals=[first]), 5)
    site.pass_(with_peer(refusals=[second, first]), 5)
    assert site.told == ["IST-101", "IST-112", "IST-112"]


def test_refused_connections_are_counted_by_reason() -> None:
    snapshot = with_peer(refused_streams={"unreachable": 3, "not_exported": 0})
    assert samples(snapshot, "isthmus_peer_streams_refused") == [
        ({"peer": "west", "reason": "unreachable"}, 3),
        ({"peer": "west", "reason": "not_exported"}, 0),
    ]
