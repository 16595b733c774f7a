"""What a second costs with hundreds of forwards, in calls of functions and in counters kept for ten minutes."""

from proxy.observe.history import History
from proxy.observe.journal import Journal
from proxy.observe.readings import counters
from proxy.observe.snapshot import Snapshot
from proxy.observe.watch import Watch
from tests.effort import calls
from tests.unit.observe.snapshots import NOW, changed, of_peer, peer, share, traffic, with_peer

MANY = 200


def hub(shares: int) -> Snapshot:
    """A hub whose peer has so many forwards, each of which has moved something."""
    moved = traffic(raw=1000, delivered=1000, after_deduplication=10)
    named = [share(name=f"forward {number}", bytes=moved, wire_bytes=10) for number in range(shares)]
    return with_peer(bytes=of_peer(raw=1000 * shares), shares=named)


def second(shares: int) -> int:
    """The calls of one."""
    snapshot = hub(shares)
    watch = Watch(Journal(), History(0.0), snapshot)
    watch.note(snapshot, NOW, 1.0)
    return calls(lambda: watch.note(snapshot, NOW + 1, 2.0))


def test_a_second_takes_few_calls_for_each_forward_that_moves_little() -> None:
    """Of 200, as all of 21 counts were followed through history, which keeps 32 series."""
    assert (second(40 + MANY) - second(40)) / MANY <= 60


def test_few_counters_of_each_forward_are_kept() -> None:
    """A hub of 200 forwards kept 21 of each, 120 times: 90 MiB."""
    assert (len(counters(hub(1 + MANY))) - len(counters(hub(1)))) / MANY <= 7


def test_a_site_is_all_its_peers_though_few_series_are_kept() -> None:
    peers = [peer(name=f"spoke{number}", bytes=of_peer(raw=0)) for number in range(100)]
    history = History(0.0)
    for second in 1, 2:
        snapshot = changed(peers=[peer(name=each.name, bytes=of_peer(raw=1000 * second)) for each in peers])
        history.note(snapshot, counters(snapshot), NOW + second, float(second))
    assert history.rates.lan_sent == 8 * 1000 * 100
