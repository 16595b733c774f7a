"""Mistakes with priorities, guarantees, caps, marks and timetables: each names key, what is wrong, remedy."""

import pytest

from proxy.config.mistakes import ConfigError
from tests.unit.config.contract import EAST, site_of
from tests.unit.config.mistakes import one_mistake
from tests.unit.config.texts import EXPORT, NORTH, of_peer

DAY = 'from = "08:00"\nto = "18:00"\nrate = "10Mbit"\n'


def table(*entries: str) -> str:
    return of_peer("".join(f"[[peer.schedule]]\n{entry}" for entry in entries))


ONE = [
    # id, the text, key, what is wrong, remedy
    ("unknown priority", EAST + 'priority = "urgent"\n', "forward[0].priority", "possible values", "'high', 'normal'"),
    ("rate without unit", EAST + 'maximum = "45"\n', "forward[0].maximum", "is not a rate", '"45Mbit"'),
    ("size for a rate", EAST + 'maximum = "5MB"\n', "forward[0].maximum", 'unit "MB" is unknown', "Mbit"),
    ("too little", EAST + 'maximum = "1kbit"\n', "forward[0].maximum", "is too small", '"64kbit"'),
    ("burst alone", EAST + 'burst = "1MiB"\n', "forward[0].burst", "nothing without maximum", "add maximum"),
    (
        "guarantee above maximum",
        EAST + 'guarantee = "2Mbit"\nmaximum = "1Mbit"\n',
        "forward[0].guarantee",
        "above maximum (1Mbit)",
        "raise maximum",
    ),
    ("no such name", EAST + 'dscp = "af24"\n', "forward[0].dscp", "is not a DSCP", '"af21"'),
    ("number too high", EAST + "dscp = 64\n", "forward[0].dscp", "is not a DSCP", "0 to 63"),
    ("mark in quotes", EAST + 'dscp = "46"\n', "forward[0].dscp", "is not a DSCP", "without quotes"),
    ("truth for a mark", EAST + "dscp = true\n", "forward[0].dscp", "is not a DSCP", "0 to 63"),
    ("export, too", EAST + EXPORT + 'guarantee = "1"\n', "export[0].guarantee", "is not a rate", '"45Mbit"'),
    (
        "promised more than the peer's rate",
        of_peer('rate = "10Mbit"\n') + 'guarantee = "6Mbit"\n' + EXPORT + 'guarantee = "6Mbit"\n',
        "peer[0].rate",
        "less than what forwards and exports of west are guaranteed together (12Mbit)",
        "lower guarantee",
    ),
    (
        "promised more than the rate at some time",
        table(DAY) + 'guarantee = "11Mbit"\n',
        "peer[0].schedule[0].rate",
        "guaranteed together (11Mbit)",
        "raise it",
    ),
    (
        "schedule is a table",
        of_peer(f"[peer.schedule]\n{DAY}"),
        "peer[0].schedule",
        "list of tables",
        "[[peer.schedule]]",
    ),
    (
        "missing time",
        table('from = "08:00"\nrate = "1Mbit"\n'),
        "peer[0].schedule[0].to",
        "is missing",
        'add to = "18:00" to that [[peer.schedule]]',
    ),
    ("no such day", table('days = "mo"\n' + DAY), "peer[0].schedule[0].days", "not a list of days", "mon-fri"),
    ("no such time", table(DAY.replace("18:00", "6pm")), "peer[0].schedule[0].to", "not a time of day", '"24:00"'),
    ("one digit", table(DAY.replace("08:00", "8:00")), "peer[0].schedule[0].from", "not a time of day", "two digits"),
    ("no time at all", table(DAY.replace("18:00", "08:00")), "peer[0].schedule[0].to", "same as from", '"24:00"'),
    (
        "from one midnight to the same one",
        table(DAY.replace("08:00", "24:00").replace("18:00", "00:00")),
        "peer[0].schedule[0].to",
        "same as from",
        'from = "00:00" and to = "24:00"',
    ),
    (
        "never applies",
        table('days = "mon-fri"\n' + DAY, 'days = "sat"\n' + DAY, 'days = "fri-sat"\n' + DAY.replace("08", "09")),
        "peer[0].schedule[2]",
        "never applies: entries above it cover that time",
        "move it up",
    ),
]


@pytest.mark.parametrize(("text", "key", "wrong", "remedy"), [case[1:] for case in ONE], ids=[case[0] for case in ONE])
def test_one_mistake(text: str, key: str, wrong: str, remedy: str) -> None:
    with one_mistake(key, wrong, remedy):
        site_of(text)


def test_all_that_may_be_said() -> None:
    text = (
        of_peer(f'rate = "45Mbit"\n[[peer.schedule]]\n{DAY}[[peer.schedule]]\ndays = "sun"\n{DAY.replace("18", "19")}')
        + 'priority = "high"\nguarantee = "6Mbit"\nmaximum = "20Mbit"\nburst = "64KiB"\ndscp = "af21"\n'
        + EXPORT
        + 'priority = "low"\nguarantee = "4Mbit"\ndscp = 8\n'
    )
    site = site_of(text)
    (forward,), (export,) = site.forwards, site.exports
    assert (forward.priority, forward.guarantee, forward.maximum) == ("high", 6_000_000, 20_000_000)
    assert (forward.burst, forward.dscp) == (65536, 18)
    assert (export.priority, export.guarantee, export.maximum, export.dscp) == ("low", 4_000_000, None, 8)
    assert [entry.rate for entry in site.peers[0].schedule] == [10_000_000, 10_000_000]


@pytest.mark.parametrize(
    ("name", "number"), [("cs0", 0), ("le", 1), ("cs1", 8), ("af11", 10), ("af43", 38), ("va", 44), ("ef", 46)]
)
def test_names_of_marks(name: str, number: int) -> None:
    """RFC 4594, table 3, and RFC 8622."""
    site = site_of(EAST + f'dscp = "{name}"\n')
    assert site.forwards[0].dscp == number


def test_a_guarantee_of_an_export_counts_for_each_of_its_peers() -> None:
    text = (
        of_peer(NORTH + 'rate = "5Mbit"\n') + EXPORT.replace('["west"]', '["west", "north"]') + 'guarantee = "6Mbit"\n'
    )
    with pytest.raises(ConfigError) as caught:
        site_of(text)
    assert [mistake.key for mistake in caught.value.mistakes] == ["peer[1].rate"]
