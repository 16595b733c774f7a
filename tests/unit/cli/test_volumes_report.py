"""Volumes and advice in `isthmus status`."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.cli.report import report
from proxy.cli.volumes_report import MOST_VOLUMES, volume_rows
from tests.unit.cli.statuses import anything, rendered, rows

KiB = 1 << 10
SECONDS = {"bounds": [0.001, 0.002, 2.048], "counts": [90, 4, 6, 0], "total": 0.15}
COMMANDS = {
    "commands": 100,
    "bytes": 6400 * KiB,
    "failed": 0,
    "sequential": 99,
    "random": 1,
    "sizes": {"bounds": [32768, 65536], "counts": [0, 100, 0], "total": 6400 * KiB},
    "seconds": SECONDS,
}
NONE = COMMANDS | {"commands": 0, "bytes": 0, "sequential": 0, "random": 0}
VOLUME: dict[str, Any] = {
    "share": "forward replication",
    "target": "iqn.2001-05.org.example:v1",
    "unit": "0",
    "connections": 1,
    "outstanding": 3,
    "outstanding_peak": 16,
    "dropped": 0,
    "reads": NONE,
    "writes": COMMANDS,
    "write_bytes_per_second": 655360,
    "advice": None,
}
OTHERS = VOLUME | {"share": "", "target": "others", "unit": "", "writes": NONE}
ADVICE = {"zone": "may help", "colour": "yellow", "words": "a faster line may help: ..."}
PEER = {"name": "west", "volumes": [VOLUME, OTHERS], "advice": ADVICE}


def shown(*peers: object, width: int = 180) -> str:
    return rendered(report({"status": {"peers": list(peers)}}, 0.0), width)


def test_a_row_for_reads_and_one_for_writes() -> None:
    both = VOLUME | {"reads": COMMANDS | {"commands": 1, "bytes": 512, "failed": 7}}
    found = rows(shown(PEER | {"volumes": [both, OTHERS]}))
    first = next(row for row in found if "reads" in row)
    assert first[:3] == ["iqn.2001-05.org.example:v1 0", "forward replication", "reads"]
    assert first[3:7] == ["1, 7 failed", "512 B", "512 B", "99%"]
    assert ["writes", "100", "6.25 MiB", "64 KiB", "99%", "1.5 ms", "2.05 s"] in found
    assert "3, most 16" in shown(PEER)


def test_volumes_of_an_export_that_several_peers_reach_are_told_apart() -> None:
    peers = [PEER | {"name": name, "volumes": [VOLUME | {"share": "export array"}]} for name in ("east", "south")]
    by = [row[1] for row in rows(shown(*peers)) if "writes" in row]
    assert by == ["export array, peer east", "export array, peer south"]
    assert [str(row[1]) for row in volume_rows(peers)] == by


def test_in_80_columns_a_name_takes_a_few_lines_and_no_figure_is_broken() -> None:
    found = rows(shown(PEER, width=80))
    at = next(number for number, row in enumerate(found) if "Commands" in row)
    assert found[at] == ["Volume", "Commands", "Bytes", "Latency", "Under way"]
    assert found[at + 2] == ["iqn.2001-05.org.example:", "writes", "100", "6.25 MiB", "1.5 ms", "3, most 16"]


def test_what_was_not_used_is_not_shown() -> None:
    text = shown(PEER)
    assert "reads" not in text
    assert "others" not in text
    assert "In sequence" not in shown(PEER | {"volumes": [OTHERS]})
    assert "others" in shown(PEER | {"volumes": [OTHERS | {"reads": COMMANDS}]})


def test_advice() -> None:
    assert ["west", "a faster line may help: ..."] in rows(shown(PEER))
    assert "Would a faster one help?" not in shown(PEER | {"advice": None})


@pytest.mark.parametrize(
    ("counts", "words"), [([0, 0, 0, 0], "-"), ([1, 0, 0, 9], "over 2.05 s"), ([10, 0, 0, 0], "1 ms"), (["x"], "-")]
)
def test_latency_of_most(counts: list[Any], words: str) -> None:
    writes = COMMANDS | {"seconds": SECONDS | {"counts": counts}}
    row = next(row for row in rows(shown(PEER | {"volumes": [VOLUME | {"writes": writes}]})) if "writes" in row)
    assert row[-2] == words


def test_many_volumes_are_cut() -> None:
    text = shown(PEER | {"volumes": [VOLUME] * (MOST_VOLUMES + 2)})
    assert text.count("iqn.2001-05") == MOST_VOLUMES
    assert "and 2 more: --json shows all" in text


def test_hostile_names_do_nothing() -> None:
    hostile = "[link=x]\x1b[2J\n[/link]"
    advice = ADVICE | {"colour": hostile, "words": hostile}
    text = shown(PEER | {"volumes": [VOLUME | {"target": hostile, "share": hostile}], "advice": advice})
    assert all(line.isprintable() for line in text.splitlines())
    assert text.count(r"[link=x]\x1b[2J\n[/link]") == 3


ODD = anything(["counts", "bounds", "total"])


def odd(whole: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of its values are anything."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(whole, ODD)).map(lambda some: whole | some)


@settings(max_examples=40)
@given(odd(SECONDS), st.data())
def test_any_odd_figure_is_shown(seconds: dict[str, Any], data: st.DataObject) -> None:
    writes = data.draw(odd(COMMANDS | {"seconds": seconds}))
    volume = data.draw(odd(VOLUME | {"writes": writes}))
    assert shown(data.draw(odd(PEER | {"volumes": [volume]})))
