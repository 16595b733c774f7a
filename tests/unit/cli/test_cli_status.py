"""`isthmus status` against a site that answers well, badly, or not at all."""

import json
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cli import output
from proxy.cli.cells import WIDE, duration, rate, size
from proxy.cli.report import BAR, MOST_STREAMS, report
from proxy.cli.status import run
from proxy.errors import ExitCode, OperatorError
from tests.unit.cli.conftest import Isthmus, StatusSite, status_port
from tests.unit.cli.statuses import REASON, STATUS, anything, rendered, rows

HEALTH: dict[str, Any] = {
    "level": "critical",
    "since": 40.0,
    "words": "peer west is away",
    "peers": [{"name": "west", "tunnel": {"level": "critical", "reasons": [REASON]}}],
}
SMALL = {"code": "IST-504", "subject": "store", "words": "replaces what is asked for", "remedy": "a larger one"}


def shown(status: dict[str, Any], width: int = 160, **more: dict[str, Any]) -> str:
    return rendered(report({"status": status, **more}, 100.0), width)


def test_the_table(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    east.answers(STATUS)
    result = isthmus("status", pair / "east.toml")
    assert result.exit_code == 0
    assert east.paths == ["/api/v1/status", "/api/v1/health", "/api/v1/warnings"]
    assert "east 0.1.0, ready, up 1 d 2 h" in result.stdout


def test_a_site_that_knows_no_health(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    east.answers(STATUS)
    east.known = ("/api/v1/status",)
    result = isthmus("status", pair / "east.toml")
    assert result.exit_code == 0
    assert "Health" not in result.stdout


def test_reasons_and_warnings_have_their_codes_and_remedies() -> None:
    found = rows(shown(STATUS, health=HEALTH, warnings={"warnings": [SMALL]}))
    assert ["critical", "peer west is away", "1 min 0 s"] in found
    at = found.index(["critical IST-102", "peer west: no lane is up", "1 min 0 s"])
    assert found[at + 1] == ["→ see the line"]
    at = found.index(["warning IST-504", "store: replaces what is asked for"])
    assert found[at + 1] == ["→ a larger one"]


def test_the_worst_reason_is_told_once() -> None:
    """The site's words are those of the worst reason."""
    other = {"code": "IST-305", "level": "attention", "words": "1 MiB passed"}
    health = HEALTH | {"words": REASON["words"], "store": {"reasons": [other, other]}}
    text = shown(STATUS, health=health)
    assert text.count("no lane is up") == 1
    assert ["critical", "because of IST-305, IST-102", "1 min 0 s"] in rows(text)


def test_lanes_that_have_the_same_fault_are_told_together() -> None:
    """In an outage all of a tunnel's lanes have it, and there may be a hundred."""
    silent = {"code": "IST-106", "level": "degraded", "words": "nothing is heard on it"}
    lossy = {"code": "IST-107", "level": "attention", "words": "9.0% had to be sent again"}
    lanes = [{"number": number, "reasons": [silent]} for number in (1, 2, 7)] + [{"number": 8, "reasons": [lossy]}]
    found = rows(shown(STATUS, health={"peers": [{"name": name, "tunnel": {"lanes": lanes}} for name in ("a", "b")]}))
    for name in ("a", "b"):
        assert ["degraded IST-106", f"lane 1 of peer {name}: nothing is heard on it; likewise lanes 2, 7"] in found
        assert ["attention IST-107", f"lane 8 of peer {name}: 9.0% had to be sent again"] in found
    assert sum("IST-106" in row[0] for row in found) == 2


def test_an_alarm_that_is_a_reason_is_told_once() -> None:
    (alarm,) = STATUS["alarms"]
    reason = {"code": "IST-301", "level": "degraded", "words": alarm}
    text = shown(STATUS | {"alarms": ["another", alarm]}, health={"store": {"reasons": [reason]}})
    assert text.count(alarm) == 1
    assert "! another" in text


def test_what_the_table_says() -> None:
    found = rows(shown(STATUS))
    assert ["! the store is full of [red]holes[/red]"] in found
    assert ["west", "up", "1", "100 ms", "2", "1", "-"] in found
    stream = "forward replication", "10.0.0.9:51234", "1 min 1 s", "5 MiB", "zstd 3, 8 MiB", "4 KiB"
    assert ["7", "west", *stream] in found
    assert ["tunnel west", "wan rate", "93%", "the line takes 43.1 Mb/s"] in found
    assert ["stream 7", "source idle", "61%", "nothing came from the array"] in found
    assert ["Store", "memory"] in found
    assert ["used", "512 MiB of 2 GiB"] in found
    assert [row for row in found if row[0] in ("chunks", "hits", "misses")] == [
        ["chunks", "32,768"],
        ["hits", "12"],
        ["misses", "-"],
    ]
    bars = {"█" * BAR: "from arrays", "█" * (BAR // 4): "after deduplication", "█" * (BAR // 8): "after compression"}
    for bar, step in bars.items():
        assert any(row[0] == step and row[-1] == bar for row in found), step
    assert ["on the wire", "130 MiB", "13.0%", "█" * 3] in found
    assert ["verified", "900 MiB"] in found


def test_the_longest_bar_fits_beside_the_longest_figures() -> None:
    """Into 80 columns."""
    most = 1023 << 40
    counts = dict.fromkeys(("raw", "after_deduplication", "relieved", "after_compression"), most)
    counts["wire"] = round(1.2 * most)
    bars = [line for line in shown(STATUS | {"bytes": counts}, width=80).splitlines() if "█" in line]
    assert [line.count("█") for line in bars] == [BAR] * 5


def test_no_heading_is_split_within_a_word() -> None:
    """In 80 columns there is not room for all of a stream; of its origin nothing is lost, and a heading is one line."""
    (stream,) = STATUS["streams"]
    lines = shown(STATUS | {"streams": [stream | {"origin": "198.18.100.200:51234"}]}, width=80).splitlines()
    (heading,) = (row for row, line in enumerate(lines) if line.lstrip().startswith("Stream "))
    assert set(lines[heading + 1].strip()) == {"─"}
    assert not lines[heading - 1].strip()


def test_a_narrow_terminal_does_without_some_columns() -> None:
    """Of a volume it showed "Comm…", and six characters of its name a line."""
    assert {"Priority", "Outages", "Age", "Compression"} <= headings(shown(STATUS, width=WIDE))
    narrow = shown(STATUS, width=80)
    assert {"Priority", "Age", "Compression"}.isdisjoint(headings(narrow))
    assert "Outages" in headings(narrow), "of a table that has room"
    found = rows(narrow)
    assert ["7", "forward replication", "10.0.0.9:51234", "5 MiB", "4 KiB"] in found
    assert ["west", "forward replication", "-", "12.3 Mbit/s", "3 s"] in found
    (peer,) = STATUS["peers"]
    assert "Outages" not in headings(shown({"peers": [peer | {"last_error": "no answer " * 9}]}, width=80))


def test_where_there_is_no_terminal_no_column_is_left_out(
    isthmus: Isthmus, pair: Path, east: StatusSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sends it to a file or to another program, which has no width."""
    east.answers(STATUS)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert {"Priority", "Age", "Compression"} <= headings(isthmus("status", pair / "east.toml").stdout)
    monkeypatch.setenv("COLUMNS", "80")
    assert {"Priority", "Age", "Compression"}.isdisjoint(headings(isthmus("status", pair / "east.toml").stdout))


def headings(text: str) -> set[str]:
    lines = rows(text)
    return {heading for above, below in pairwise(lines) if set(below[0]) == {"─"} for heading in above}


def test_what_is_open_on_demand_is_shown() -> None:
    assert "On demand" not in shown(STATUS)
    (peer,) = STATUS["peers"]
    opened = {"forward": "replication", "portal": "10.1.0.7:3260", "listen": "127.0.0.1:3262"}
    peers = [peer | {"on_demand": [opened | {"streams": 2, "accepted": 1234, "idle_seconds": 0.0}, 7, {}]}]
    found = rows(shown(STATUS | {"peers": peers}))
    assert ["west", "replication", "10.1.0.7:3260", "127.0.0.1:3262", "2", "1,234", "0 s"] in found
    assert ["west", "-", "-", "-", "-", "-", "-"] in found


def test_what_a_receiving_site_sends_is_set_against_nothing() -> None:
    """The line carried acknowledgements, a hundred times the few bytes that its arrays gave."""
    received = {"raw": 2400, "after_deduplication": 2400, "after_compression": 2000, "wire": 250_000}
    found = rows(shown(STATUS | {"bytes": received}))
    assert ["after compression", "1.95 KiB", "83.3%", "█" * round(BAR * 2000 / 2400)] in found
    assert ["on the wire", "244 KiB", "-"] in found


def test_what_went_though_peers_hold_it_explains_why_little_was_saved() -> None:
    sent = {"raw": 2000 << 20, "after_deduplication": 1900 << 20, "relieved": 1500 << 20}
    found = rows(shown(STATUS | {"bytes": sent}))
    at = next(number for number, row in enumerate(found) if row[0] == "after deduplication")
    assert found[at + 1] == ["of it held by peers", "1.46 GiB", "75.0%", "█" * (BAR * 3 // 4)]
    assert "of it held by peers" not in shown(STATUS | {"bytes": sent | {"relieved": 0}})


def test_shares_are_shown_if_there_is_a_rule() -> None:
    found = rows(shown(STATUS))
    assert ["west", "all together", "-", "45 Mbit/s", "12.3 Mbit/s", "5 MiB", "1 min 1 s"] in found
    assert ["west", "forward replication", "high", "30 Mbit/s", "-", "12.3 Mbit/s", "5 MiB", "3 s"] in found
    (peer,) = STATUS["peers"]
    plain = peer["shares"][0] | {"guarantee_bits_per_second": None, "priority": "normal"}
    assert "all together" not in shown(STATUS | {"peers": [peer | {"rate_bits_per_second": None, "shares": [plain]}]})
    marked = plain | {"dscp": 46}
    assert "all together" in shown(STATUS | {"peers": [peer | {"rate_bits_per_second": None, "shares": [marked]}]})


@pytest.mark.parametrize(
    ("bits", "text"),
    [(0, "0 bit/s"), (64_000, "64 kbit/s"), (999_600, "1 Mbit/s"), (10**12, "1,000 Gbit/s"), (None, "-")],
)
def test_rates(bits: int | None, text: str) -> None:
    assert rate(bits) == text


def test_states_in_words() -> None:
    assert "draining" in shown(STATUS | {"draining": True})
    assert "not ready" in shown(STATUS | {"ready": False})


def test_many_streams_are_cut() -> None:
    text = shown(STATUS | {"peers": [], "streams": STATUS["streams"] * (MOST_STREAMS + 3)})
    assert text.count("forward replication") == MOST_STREAMS
    assert "and 3 more: --json shows all" in text


def test_hostile_names_do_nothing() -> None:
    hostile = "[link=x]\x1b[2J\n[/link]"
    verdict = {"limit": hostile, "share": hostile, "words": hostile}
    share = STATUS["peers"][0]["shares"][0] | {"name": hostile, "priority": hostile}
    limited = {"verdict": verdict}
    peer = STATUS["peers"][0] | limited | {"name": hostile, "state": hostile, "last_error": hostile, "shares": [share]}
    stream = STATUS["streams"][0] | limited | {"peer": hostile, "forward": hostile, "origin": hostile}
    text = shown(
        STATUS | {"peers": [peer], "streams": [stream], "site": hostile, "version": hostile, "alarms": [hostile]}
    )
    assert all(line.isprintable() for line in text.splitlines())
    assert text.count(r"[link=x]\x1b[2J\n[/link]") == 18


ODD = anything(["bytes", "name", "lanes"])


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(STATUS, ODD)))
def test_anything_missing_or_odd_is_shown_as_a_dash(status: dict[str, Any]) -> None:
    assert shown(status)


@given(st.sampled_from(["peers", "streams", "store", "bytes"]), st.data())
def test_any_odd_figure_is_shown(section: str, data: st.DataObject) -> None:
    keys = STATUS[section][0] if isinstance(STATUS[section], list) else STATUS[section]
    odd = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(keys, ODD)))
    assert shown({section: [odd] if isinstance(STATUS[section], list) else odd})


def test_json(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    east.answers(STATUS | {"new": {"in": "a later version"}})
    result = isthmus("status", pair / "east.toml", "--json")
    assert json.loads(result.stdout) == STATUS | {"new": {"in": "a later version"}}


def test_a_site_that_is_not_running(isthmus: Isthmus, pair: Path) -> None:
    result = isthmus("status", pair / "east.toml")
    assert (result.exit_code, result.stdout) == (ExitCode.UNREACHABLE, "")
    assert result.stderr.startswith("isthmus: no status of site east from 127.0.0.1:")
    assert result.stderr.endswith(f": Connection refused; is `isthmus serve {pair}/east.toml` running?\n")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((b"nonsense", 200), "the answer is not a status"),
        ((b"[1]", 200), "the answer is not a status"),
        ((b"[" * 100_000, 200), "the answer is not a status"),
        ((b"", 404), "HTTP 404 Not Found; does another program listen there, or a site of"),
        ((b'{"site": "west"}', 200), "the site that answers there is 'west', not 'east'; see status.listen"),
    ],
)
def test_somebody_else_answers(
    isthmus: Isthmus, pair: Path, east: StatusSite, answer: tuple[bytes, int], told: str
) -> None:
    east.answers(*answer)
    result = isthmus("status", pair / "east.toml")
    assert result.exit_code == ExitCode.UNREACHABLE
    assert told in result.stderr


@pytest.mark.parametrize("said", [b"SSH-2.0-server\r\n", b"\x15\x03\x03\0\x02\x02F"])
def test_who_answers_speaks_something_else(isthmus: Isthmus, pair: Path, said: bytes) -> None:
    """What it said, with its line break, was told as the reason."""
    port = status_port(pair / "east.toml")

    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(said)

    with socket.create_server(("127.0.0.1", port)) as listener:
        other = threading.Thread(target=answer, args=[listener], daemon=True)
        other.start()
        result = isthmus("status", pair / "east.toml")
        other.join()
    assert result.exit_code == ExitCode.UNREACHABLE
    assert result.stderr.endswith(f":{port}: the answer is not HTTP; does another program listen there?\n")


def test_who_cannot_read_the_key_can_still_ask(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    (pair / "east.key").unlink()
    east.answers(STATUS)
    assert isthmus("status", pair / "east.toml").exit_code == 0


class TestFollow:
    """--watch where there is no terminal, with pauses that end it as Ctrl-C would."""

    @pytest.fixture
    def pauses(self, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
        """What happens in each pause, in order; the one behind the last ends it."""

        def plan(*happens: Callable[[], object]) -> None:
            left = iter(happens)

            def pause(seconds: float) -> None:
                assert seconds == 1.0
                if (now := next(left, None)) is None:
                    raise KeyboardInterrupt
                now()

            monkeypatch.setattr("proxy.cli.status.time", SimpleNamespace(sleep=pause, time=time.time))

        return plan

    def test_a_json_line_each_second(
        self, pair: Path, east: StatusSite, pauses: Callable[..., None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        east.answers({"a": 1})
        pauses(partial(east.answers, {"a": 2}), partial(east.answers, {"a": 3}))
        run(pair / "east.toml", as_json=True, watch=True)
        assert capsys.readouterr().out == '{"a": 1}\n{"a": 2}\n{"a": 3}\n'

    def test_a_page_each_second_told_at_once(
        self, pair: Path, east: StatusSite, pauses: Callable[..., None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        told: list[str] = []

        def upgrade() -> None:
            told.append(capsys.readouterr().out)
            east.answers({"site": "east", "version": "second"})

        east.answers({"site": "east", "version": "first"})
        pauses(upgrade)
        run(pair / "east.toml", as_json=False, watch=True)
        told.append(capsys.readouterr().out)
        assert [page.split(",")[0] for page in told] == ["east first", "east second"]

    def test_a_site_that_goes_is_waited_for(
        self, pair: Path, east: StatusSite, pauses: Callable[..., None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        east.answers(b"", 404)
        pauses(partial(east.answers, STATUS))
        run(pair / "east.toml", as_json=False, watch=True)
        told = capsys.readouterr().out
        assert told.index("no status of site east") < told.index("east 0.1.0, ready")

    def test_for_programs_it_is_an_error(self, pair: Path, east: StatusSite, pauses: Callable[..., None]) -> None:
        east.answers(b"", 404)
        pauses()
        with pytest.raises(OperatorError, match="no status of site east"):
            run(pair / "east.toml", as_json=True, watch=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (512.4, "512 B"),
        (999, "999 B"),
        (1000, "0.977 KiB"),
        (1536, "1.5 KiB"),
        (5 << 40, "5 TiB"),
        (9000 << 40, "9,000 TiB"),
    ],
)
def test_sizes_to_three_figures(value: float, text: str) -> None:
    assert size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 s"), (59.9, "59 s"), (60, "1 min 0 s"), (3700, "1 h 1 min"), (90000, "1 d 1 h"), (-1, "-")],
)
def test_durations_in_two_units(value: float, text: str) -> None:
    assert duration(value) == text


@pytest.mark.parametrize("command", ["status", "drain", "reload", "doctor"])
def test_who_has_to_wait_is_told_for_what(
    isthmus: Isthmus, pair: Path, east: StatusSite, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A site that hangs is given up after a quarter of a minute, which is long without a word."""
    east.answers(STATUS | {"reloaded": True})
    east.hold = told = threading.Event()
    say = output.say

    def said(words: str, *, err: bool = False) -> None:
        say(words, err=err)
        told.set()

    monkeypatch.setattr(output, "at_a_terminal", lambda: True)
    monkeypatch.setattr(output, "WORDLESS", 0.0)
    monkeypatch.setattr(output, "say", said)
    shown = isthmus(command, pair / "east.toml")
    assert shown.stderr.startswith("waiting for site east to answer at 127.0.0.1:")
    assert not (command == "status" and shown.exit_code)


def test_a_program_that_waits_is_told_nothing(
    isthmus: Isthmus, pair: Path, east: StatusSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    east.answers(STATUS)
    monkeypatch.setattr(output, "WORDLESS", 0.0)
    assert isthmus("status", pair / "east.toml").stderr == ""


def test_who_may_have_no_more_threads_waits_without_a_word(
    isthmus: Isthmus, pair: Path, east: StatusSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asked nothing: all that was said was that no thread can be started."""

    def refused(_: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    east.answers(STATUS)
    monkeypatch.setattr(output, "at_a_terminal", lambda: True)
    monkeypatch.setattr(threading.Timer, "start", refused)
    shown = isthmus("status", pair / "east.toml")
    assert (shown.exit_code, shown.stderr) == (0, "")
