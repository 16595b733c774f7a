"""Counts of volumes add up, whatever connections do: commands, statuses in any order, aborts, ends."""

from hypothesis import given
from hypothesis import strategies as st

from proxy.iscsi.pdu import BASIC_BYTES, Sender
from proxy.iscsi.tasks import DEFAULT_UNIT_LENGTH
from proxy.net.tally import Tally
from proxy.observe.histogram import Histogram, within
from proxy.observe.volumes import SIZES, VOLUMES_MAX, Volumes
from tests.unit.iscsi.pdus import command, login, login_answer, read_10, response, write_10

CONNECTIONS = 3
UNITS = VOLUMES_MAX + 20

connections = st.integers(0, CONNECTIONS - 1)
tags = st.integers(0, 5)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("command"), connections, tags, st.integers(0, UNITS), st.booleans(), st.integers(0, 64)),
        st.tuples(st.just("response"), connections, tags, st.sampled_from([0, 2])),
        st.tuples(st.just("end"), connections),
    ),
    max_size=300,
)


class Model:
    """The same counted plainly."""

    def __init__(self) -> None:
        self.under_way: dict[tuple[int, int], int] = {}
        self.began = self.bytes = self.failed = self.dropped = 0

    def command(self, connection: int, tag: int, length: int) -> None:
        self.dropped += (connection, tag) in self.under_way
        self.under_way[connection, tag] = length
        self.began += 1

    def response(self, connection: int, tag: int, status: int) -> None:
        length = self.under_way.pop((connection, tag), None)
        if length is not None:
            self.failed += bool(status)
            self.bytes += 0 if status else length

    def end(self, connection: int) -> None:
        left = [key for key in self.under_way if key[0] == connection]
        self.dropped += len(left)
        for key in left:
            del self.under_way[key]


@given(steps, st.booleans())
def test_sums(steps: list[tuple[object, ...]], crowded: bool) -> None:
    volumes, model = Volumes(), Model()
    tallies = [logged_in(volumes) for _ in range(CONNECTIONS)]
    if crowded:
        crowd(tallies[0], model)
    for now, (kind, *rest) in enumerate(steps):
        match kind, rest:
            case "command", [int(at), int(tag), int(unit), bool(write), int(units)]:
                cdb = write_10(0, units) if write else read_10(0, units)
                tallies[at].connection.passed(Sender.INITIATOR, command(tag, cdb, lun=unit << 48), b"", now)
                model.command(at, tag, units * DEFAULT_UNIT_LENGTH)
            case "response", [int(at), int(tag), int(status)]:
                tallies[at].connection.passed(Sender.TARGET, response(tag, status), b"", now)
                model.response(at, tag, status)
            case "end", [int(at)]:
                tallies[at].close()
                tallies[at] = logged_in(volumes)
                model.end(at)
        volumes.sample(float(now))
    agree(volumes, model)
    for at, tally in enumerate(tallies):
        tally.close()
        model.end(at)
    agree(volumes, model)
    assert {volume.connections for volume in volumes.all()} == {0}


def logged_in(volumes: Volumes) -> Tally:
    tally = Tally(volumes, "export array")
    tally.connection.passed(Sender.INITIATOR, login()[:BASIC_BYTES], b"", 0)
    tally.connection.passed(Sender.TARGET, login_answer()[:BASIC_BYTES], b"", 0)
    return tally


def crowd(tally: Tally, model: Model) -> None:
    """As many volumes as are told apart have been read."""
    for unit in range(VOLUMES_MAX):
        tally.connection.passed(Sender.INITIATOR, command(unit, read_10(0, 1), lun=unit << 48), b"", 0)
        tally.connection.passed(Sender.TARGET, response(unit), b"", 0)
        model.began += 1
        model.bytes += DEFAULT_UNIT_LENGTH


def agree(volumes: Volumes, model: Model) -> None:
    every = volumes.all()
    accesses = [commands for volume in every for commands in (volume.reads, volume.writes)]
    assert len(every) <= VOLUMES_MAX + 2
    assert all(0 <= volume.outstanding <= volume.outstanding_peak for volume in every)
    assert sum(volume.outstanding for volume in every) == len(model.under_way)
    assert sum(volume.dropped for volume in every) == model.dropped
    assert sum(volume.bytes for volume in every) == model.bytes
    assert sum(commands.failed for commands in accesses) == model.failed
    assert sum(commands.sequential + commands.random for commands in accesses) == model.began


sizes = st.lists(st.integers(0, 8 << 20), max_size=100)


@given(sizes, sizes, st.floats(0.01, 1))
def test_histograms(some: list[int], more: list[int], share: float) -> None:
    """Two added are one of both; and `within` is the least bound that so many do not exceed."""
    one, other, both = Histogram(SIZES), Histogram(SIZES), Histogram(SIZES)
    for values, histograms in ((some, (one, both)), (more, (other, both))):
        for value in values:
            for histogram in histograms:
                histogram.note(value)
    one.add(other)
    assert (one.counts, one.total) == (both.counts, both.total)
    assert (both.count, both.total) == (len(some + more), sum(some + more))
    enough = [
        bound for bound in SIZES if some + more and sum(value <= bound for value in some + more) >= share * both.count
    ]
    assert within(SIZES, both.counts, share) == (enough[0] if enough else None)
