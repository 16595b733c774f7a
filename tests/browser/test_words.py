"""What the page says of a site that has just begun, that mostly receives, or that does nothing: it has to be true."""

from dataclasses import replace
from typing import Any

import pytest

from proxy.observe.answers import Level, Pass, Waterfall
from tests.browser import scene
from tests.browser.scene import MIB, Scene
from tests.browser.stage import Stage, staged
from tests.browser.window import OpenWindow, Window

pytestmark = pytest.mark.serial
DASH = "\N{EN DASH}"


def tile(page: Window, name: str) -> str:
    return next(words for words in page.texts("#savings-tiles > *") if words.startswith(name))


def sends(stage: Stage, raw: int, compressed: int, wire: int, *, gets: float = 0.0) -> None:
    """The site has sent these bytes; its arrays got so many times what they gave, and half of that crossed the line."""
    history = stage.scene.history
    sent = history.summary.lan_sent
    summary = replace(
        history.summary,
        lan_received=replace(sent, average=gets * sent.average),
        wan_received=replace(sent, average=gets * sent.average / 2),
    )
    stage.scene.history = replace(
        history,
        summary=summary,
        waterfall=Waterfall(raw, compressed, compressed, wire - compressed, wire, 0),
        cold=Pass(10, raw, wire, 1e6, raw / wire if raw else None),
        warm=Pass(0, 0, 0, 0.0, None),
        gains=[replace(history.gains[0], raw=raw, after_compression=compressed, wire=wire, gain=raw / wire)],
    )


def test_a_site_that_mostly_receives_has_no_gain_of_what_it_sends(stage: Stage, window: OpenWindow) -> None:
    """Its acknowledgements are no price of the few bytes that its arrays gave."""
    sends(stage, 2520, 2100, 250_000, gets=1000)
    page = window(stage.url)
    page.until_text("#savings-tiles", "this site mostly receives")
    assert "2 : 1" in tile(page, "Bandwidth gain")
    assert "of what was received" in tile(page, "Bandwidth gain")
    assert DASH in tile(page, "Saved")
    assert "see the other site's page" in tile(page, "Saved")
    assert "%" not in " ".join(page.texts("#waterfall li"))
    assert "0.01 : 1" not in " ".join([*page.texts("#passes > *"), *page.texts("#gains")])


def test_so_little_was_sent_that_it_tells_nothing(stage: Stage, window: OpenWindow) -> None:
    sends(stage, 2520, 2100, 250_000)
    page = window(stage.url)
    page.until_text("#savings-tiles", "too little was sent over 5 min")
    assert DASH in tile(page, "Bandwidth gain")
    sends(stage, 0, 0, 250_000)
    page.until_text("#savings-tiles", "nothing was sent over 5 min")


def test_what_does_not_reduce_saves_nothing_rather_than_less(stage: Stage, window: OpenWindow) -> None:
    sends(stage, 900 * MIB, 899 * MIB, 915 * MIB, gets=2)
    page = window(stage.url)
    page.until_text("#savings-tiles", "0 % of 900 MiB, over 5 min")
    assert "0.984 : 1" in tile(page, "Bandwidth gain")


@pytest.mark.parametrize("level", [Level.ATTENTION, Level.DEGRADED])
def test_a_site_that_has_only_begun_does_not_claim_to_work(stage: Stage, window: OpenWindow, level: Level) -> None:
    down = scene.reason("IST-102", Level.ATTENTION, "there is no tunnel to west: it has not dialled in", "see it")
    west = replace(stage.scene.health.peers[0], level=Level.ATTENTION, tunnel=scene.tunnel(Level.ATTENTION, [down], 0))
    stage.scene.health = replace(stage.scene.health, level=level, words=down.words, reasons=[], peers=[west])
    page = window(stage.url)
    page.until_text("#verdict-level", "Starting: there is no tunnel yet")
    page.until_text("#verdict-words", "There is no tunnel to west: it has not dialled in")


def test_a_site_whose_peer_has_ended_in_order_is_not_said_to_start(stage: Stage, window: OpenWindow) -> None:
    down = scene.reason("IST-115", Level.ATTENTION, "west has ended in order, and is not back", "start it again")
    west = replace(stage.scene.health.peers[0], level=Level.ATTENTION, tunnel=scene.tunnel(Level.ATTENTION, [down], 0))
    stage.scene.health = replace(stage.scene.health, level=Level.ATTENTION, words=down.words, reasons=[], peers=[west])
    page = window(stage.url)
    page.until_text("#verdict-level", "Nothing is replicated until a site is back that has ended in order")


def test_no_streams_are_no_fault_of_filters(stage: Stage, window: OpenWindow) -> None:
    page = window(stage.url)
    page.until_text("#streams-count", "4 of 4 live streams")
    stage.scene.streams = []
    page.until_text("#streams-count", "0 of 0 live streams")
    assert page.texts("#streams-table .empty") == ["There are no streams."]


def test_only_what_matters_is_read_out(stage: Stage, window: OpenWindow) -> None:
    """A screen reader is told of another headline, not of each stream that comes and goes."""
    west = stage.scene.health.peers[0]
    stage.scene.health = replace(stage.scene.health, level=Level.HEALTHY, reasons=[], peers=[west])
    page = window(stage.url)
    page.until_text("#verdict-words", "4 streams")
    page.page.evaluate(
        """() => {
            window.read = 0;
            for (const region of document.querySelectorAll('#verdict [role=status], #verdict [aria-live]'))
                new MutationObserver(() => (window.read += 1)).observe(
                    region, { childList: true, characterData: true, subtree: true });
        }"""
    )
    stage.scene.streams = stage.scene.streams[:2]
    page.until_text("#verdict-words", "2 streams")
    assert page.page.evaluate("window.read") == 0
    stage.scene.health = replace(stage.scene.health, level=Level.DEGRADED)
    page.until_text("#verdict-level", "Replication is degraded")
    page.until("window.read > 0")


CLAIMS = ("There is no peer", "No event", "No hit was sampled", "No iSCSI volume", "There are no streams", "Nothing to")


def test_nothing_is_denied_before_it_was_asked_for(window: OpenWindow) -> None:
    """Without a token no answer comes: then nobody knows whether there are peers, volumes, events or warnings."""
    with staged(Scene(), token=True) as stage:
        page = window(stage.url)
        page.until_text("#signal", "a token is needed")
        page.page.evaluate("document.getElementById('severity').dispatchEvent(new Event('change'))")
        said = page.texts("main")[0]
        assert [claim for claim in CLAIMS if claim in said] == []
        for place in ("#ladder", "#verdicts", "#events-table", "#volumes-table", "#warnings"):
            assert "No answer yet." in page.texts(place)[0]


def test_what_there_is_none_of_is_said_when_it_was_asked_for(stage: Stage, window: OpenWindow) -> None:
    stage.scene.warnings, stage.scene.events, stage.scene.streams = [], [], []
    stage.scene.status["peers"] = []
    page = window(stage.url)
    page.until_text("#warnings", "Nothing to warn of")
    page.until_text("#streams-table", "There are no streams.")
    page.until_text("#volumes-table", "No iSCSI volume has been read or written yet.")
    page.until_text("#events-table", "No event.")


def test_the_title_does_not_go_on_to_call_a_silent_site_healthy(stage: Stage, window: OpenWindow) -> None:
    """Of a tab behind others it is all that can be seen."""
    west = stage.scene.health.peers[0]
    stage.scene.health = replace(stage.scene.health, level=Level.HEALTHY, reasons=[], peers=[west])
    page = window(stage.url)
    page.until("document.title === 'Healthy · east · Isthmus'")
    stage.silent = True
    page.until("/^No answer since .+ · east · Isthmus$/.test(document.title)")
    stage.silent = False
    page.until("document.title === 'Healthy · east · Isthmus'")
    stage.token = "another"
    page.until("document.title === 'A token is needed · east · Isthmus'")


PAINTED = """() => [...document.querySelectorAll("#savings .key, #waterfall .tall .part, #gains .part, #ages .part")]
    .filter((one) => one.getBoundingClientRect().width > 1)
    .map((one) => getComputedStyle(one).backgroundColor)"""


def test_keys_and_bars_keep_their_colours_where_colours_are_forced(stage: Stage, window: OpenWindow) -> None:
    """Without them a chart has two lines that nobody can tell apart, and a bar is nothing."""
    page = window(stage.url)
    page.until_shown()
    free = page.page.evaluate(PAINTED)
    assert len(set(free)) > 3
    page.page.emulate_media(forced_colors="active")
    assert page.page.evaluate(PAINTED) == free
    exact = "[...document.querySelectorAll('.key, .bar > span, .stack > span')].map((one) => getComputedStyle(one))"
    assert page.page.evaluate(f"{exact}.every((style) => style.printColorAdjust === 'exact')"), "and on paper"


def test_a_chart_fits_on_paper(stage: Stage, window: OpenWindow) -> None:
    """It was drawn for the screen, and nothing draws it again for the printer: its newest part was cut off."""
    page = window(stage.url)
    page.until_shown()
    page.page.emulate_media(media="print")
    widths = page.page.evaluate(
        """() => [...document.querySelectorAll(".plot")].map((plot) => {
            plot.style.width = "300px";
            return plot.querySelector("canvas").getBoundingClientRect().width;
        })"""
    )
    assert widths == [300, 300]


def test_rates_of_now_say_that_they_are_of_the_whole_site(stage: Stage, window: OpenWindow) -> None:
    """Beside the gain of one peer, whose rates of now the site does not tell."""
    page = window(stage.url)
    page.until_shown()
    assert "whole site" not in page.texts("#savings-tiles")[0]
    page.page.select_option("#of", "peer north")
    page.until_text("#savings-tiles", "; of the whole site")
    assert "whole site" in tile(page, "LAN now")
    assert "whole site" in tile(page, "WAN now")


def test_without_javascript_it_says_why_it_shows_nothing(stage: Stage, chromium: Any) -> None:
    with chromium.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(stage.url)
        told = page.locator("noscript p")
        assert told.is_visible()
        assert "without JavaScript" in told.inner_text()


def test_the_age_of_data_is_not_told_as_none_before_it_is_known(stage: Stage, window: OpenWindow) -> None:
    """The API counts from full containers: until one is, it says 0, though data may have lain there for hours."""
    stage.scene.store = replace(stage.scene.store, oldest_seconds=0.0)
    page = window(stage.url)
    page.until_text("#store-tiles", "Oldest data")
    assert next(words for words in page.texts("#store-tiles > *") if words.startswith("Oldest"))[11:].startswith(DASH)


def test_bytes_of_the_wire_that_are_counted_otherwise_say_so(stage: Stage, window: OpenWindow) -> None:
    """Of a site with one forward both stand on the page: in the waterfall without headers, in the table with them."""
    page = window(stage.url)
    page.until_shown()
    assert "Wire, with TCP/IP headers" in page.texts("#gains thead th")


@pytest.mark.parametrize("width", [1280, 390])
def test_small_shares_stay_within_their_panel(stage: Stage, window: OpenWindow, width: int) -> None:
    raw = 1 << 40
    stage.scene.history = replace(stage.scene.history, waterfall=Waterfall(raw, raw, raw + 99, 99, raw + 99, 0))
    page = window(stage.url, width=width)
    page.until_text("#waterfall", "< 0.01 %")
    fits = "[...document.querySelectorAll('#waterfall small')].every((one) => one.scrollWidth <= one.clientWidth)"
    assert page.page.evaluate(fits)


def test_what_is_critical_while_a_tunnel_is_up_is_not_that_nothing_is_replicated(
    stage: Stage, window: OpenWindow
) -> None:
    """The site's own certificate has ended: no new lane comes up, those that are there go on."""
    level = Level.CRITICAL
    ended = scene.reason("IST-203", level, "this site's certificate has ended", "make a new one now")
    west = stage.scene.health.peers[0]
    stage.scene.health = replace(stage.scene.health, level=level, words=ended.words, reasons=[ended], peers=[west])
    page = window(stage.url)
    page.until_text("#verdict-level", "Replication goes on, but may not for long")
    health = stage.scene.health
    stage.scene.health = replace(health, peers=[replace(west, level=level, tunnel=scene.tunnel(level, [], 0))])
    page.until_text("#verdict-level", "Nothing is replicated")


def test_what_is_not_counted_by_forward_is_no_figure_of_it(stage: Stage, window: OpenWindow) -> None:
    """What lanes send again and receive is of the tunnel: the history of a forward says 0, whatever it is given."""
    page = window(stage.url)
    page.until_shown()
    assert DASH not in page.rows("#throughput")[3]
    assert "Sent again" in page.texts("#waterfall .name")
    page.page.select_option("#of", "forward replication")
    page.until_text("#throughput-range", "of the forward replication")
    rows = {row[0]: row[1:] for row in page.rows("#throughput")}
    assert rows["WAN, sent again"] == rows["WAN, received"] == [DASH] * 4
    assert DASH not in rows["WAN, sent"][1:]
    assert f"WAN {DASH}" in page.texts("#chart-received .readout")[0]
    assert "Sent again" not in page.texts("#waterfall .name")
    assert "Framing, TLS and TCP/IP" in page.texts("#waterfall .name"), "as its bytes of the wire are"
    page.page.select_option("#of", "peer north")
    page.until_text("#throughput-range", "of the peer north")
    assert DASH not in page.rows("#throughput")[3][2:]


def test_ticks_twelve_hours_apart_say_of_which_day_they_are(stage: Stage, window: OpenWindow) -> None:
    """As those of a week do on a screen of 2,560 pixels."""
    page = window(stage.url)
    shown = page.page.evaluate(
        """async () => {
            const { ticks } = await import("/static/js/chart.js");
            const noon = new Date(2026, 10, 27, 12).getTime() / 1000;
            return [43200, 3600, 30].map((step) => ticks(null, [noon, noon + 43200], 0, 0, step));
        }"""
    )
    assert shown == [["12:00", "28 Nov"], ["12:00", "28 Nov"], ["12:00:00", "00:00:00"]]


def test_commands_and_keys_of_a_remedy_are_shown_as_code(stage: Stage, window: OpenWindow) -> None:
    remedy = "`isthmus doctor` says why; correct `address`"
    away = scene.reason("IST-112", Level.DEGRADED, "west `refuses` it", remedy)
    stage.scene.health = replace(stage.scene.health, reasons=[away], peers=[])
    stage.scene.events = [replace(stage.scene.events[-1], remedy=remedy)]
    page = window(stage.url)
    page.until_text("#events-table", "says why")
    for place in ("#reasons .remedy", "#events-table .fill .under"):
        assert page.texts(place) == ["isthmus doctor says why; correct address"]
        assert page.texts(f"{place} code") == ["isthmus doctor", "address"]
    assert page.texts("#reasons .words") == ["Site: west `refuses` it"], "which may quote what a peer says"
    remedy = "see `isthmus doctor`"
    stage.scene.health = replace(stage.scene.health, reasons=[replace(away, remedy=remedy)])
    page.until("document.querySelector('#reasons .remedy').textContent === 'see isthmus doctor'")


def test_what_limits_stands_on_top(stage: Stage, window: OpenWindow) -> None:
    """Who is asked why it is slow need not look for it: the tunnel that is limited most, and no idle or lost one."""
    page = window(stage.url)
    wan = "Tunnel to west: limited by wan rate, 93 %; the line takes 42.8 Mbit/s, of which 1.0% were sent again"
    page.until(f"document.getElementById('verdict-limit').textContent === {wan!r}")
    west, north = stage.scene.health.peers
    idle = replace(west, verdict=scene.verdict("source idle", 0.99, "nothing came from the array for 99% of the time"))
    busy = replace(west, name="south", verdict=scene.verdict("store", 0.4, "the store's disk took 40% of the time"))
    stage.scene.health = replace(stage.scene.health, peers=[idle, busy, north])
    page.until_text("#verdict-limit", "Tunnel to south: limited by store, 40 %; the store's disk took 40% of the time")
    stage.scene.health = replace(stage.scene.health, peers=[idle, north])
    page.until_text("#verdict-limit", "Tunnel to west: limited by source idle, 99 %")
    stage.scene.health = replace(stage.scene.health, peers=[north])
    page.until("document.getElementById('verdict-limit').hidden")


def test_what_is_waited_for_is_of_the_time_since_the_last_look_whoever_comes_and_goes(
    stage: Stage, window: OpenWindow
) -> None:
    """Where a peer had been removed, what the others had waited for since the start was shown as new."""
    first = stage.scene.status
    west, north = first["peers"]
    stage.scene.status = first | {"peers": [west, north | {"waiting_seconds": {"line": 500.0}}]}

    def later(seconds: float, *peers: dict[str, Any], **changes: Any) -> None:
        stage.scene.status = first | {"uptime_seconds": first["uptime_seconds"] + seconds, "peers": peers} | changes
        page.page.clock.fast_forward(60_000)

    page = window(stage.url, clock=True)
    page.until_text("#waits-range", "since the start")
    more = west | {"waiting_seconds": west["waiting_seconds"] | {"far_array": 93.0, "cpu": 301.0}}
    later(30, more)
    page.until_text("#waits-range", "over the last 30 s")
    assert [row[:2] for row in page.rows("#waits")] == [["The far array", "75 %"], ["This process (CPU)", "25 %"]]
    later(50, more, north | {"waiting_seconds": {"store": 1.0}})
    page.until_text("#waits-range", "over the last 20 s")
    assert [row[:2] for row in page.rows("#waits")] == [["The store's disk", "100 %"]]
    later(90, more, started=first["started"] + 1)
    page.until_text("#waits-range", "since the start")
