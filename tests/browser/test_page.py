"""The page on a stage: what it shows of answers that are made up, and how it behaves when they stop."""

import re
from dataclasses import asdict, replace

import pytest

from proxy.cli import cells
from proxy.observe.answers import Chart, Level, Reason
from tests.browser import scene
from tests.browser.scene import HOSTILE, Scene
from tests.browser.stage import TOKEN, Stage, staged
from tests.browser.window import OpenWindow, eventually

pytestmark = pytest.mark.serial
PAINTED = """() => [...document.querySelectorAll('.uplot canvas')].map((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colours = { lan: [42, 102, 196], wan: [194, 98, 10] };
    return Object.values(colours).map((colour) => {
        let found = 0;
        const alike = (at) => colour.every((part, index) => Math.abs(data[at + index] - part) < 12);
        for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200 && alike(at)) found += 1;
        return found;
    });
})"""
"""Of each chart: how many pixels have the colour of each line."""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everybody_can_use_it(stage: Stage, window: OpenWindow, theme: str) -> None:
    """axe-core: contrast, labels, roles, headings, landmarks; as it stands, and with the tables beside the charts."""
    page = window(stage.url, theme=theme)
    page.until_shown()
    page.page.locator("details > summary").first.press("Enter")
    page.until("document.querySelector('details').open")
    assert page.page.evaluate("document.documentElement.dataset.theme") == theme
    assert page.axe() == []
    assert page.complaints == []


def test_nothing_scrolls_sideways_on_a_phone(stage: Stage, window: OpenWindow) -> None:
    stage.scene.streams = [scene.stream(1, name="iqn.2001-05.com.example:" + "long" * 40)]
    page = window(stage.url, width=390)
    page.until_shown()
    page.until_text("#streams-table", "longlong")
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 390
    wide = """[...document.querySelectorAll('main *:not(thead *)')]
        .filter((one) => one.getBoundingClientRect().right > 391)
        .map((one) => one.outerHTML.slice(0, 100))"""
    assert page.page.evaluate(wide) == []
    assert page.axe() == []


@pytest.mark.parametrize("width", [1400, 900, 870, 860])
def test_nothing_is_cut_or_torn_on_half_a_screen(stage: Stage, window: OpenWindow, width: int) -> None:
    """Shares left their panel, times of day were broken between their digits, and names stood letter under letter."""
    name = "branch-office-01.replication.storage.example"
    stage.scene.events.append(replace(stage.scene.events[-1], number=5, subject=f"peer {name}", words=name * 9))
    page = window(stage.url, width=width)
    page.until_shown()
    page.until_text("#events-table", "branch-office")
    cut = """[...document.querySelectorAll('.panel, .panel > *')]
        .filter((one) => !one.matches('.unseen') && one.scrollWidth > one.clientWidth)
        .map((one) => `${one.textContent.slice(0, 40)}: ${one.scrollWidth} > ${one.clientWidth}`)"""
    torn = """[...document.querySelectorAll('#ladder tbody th > span')]
        .filter((one) => one.offsetHeight > 3.2 * parseFloat(getComputedStyle(one).fontSize))
        .map((one) => one.textContent)"""
    broken = """[...document.querySelectorAll('.whole > span, [data-label=Code] > span')]
        .filter((one) => one.getClientRects().length > 1).length"""
    assert page.page.evaluate(cut) == []
    assert page.page.evaluate(torn) == []
    assert page.page.evaluate(broken) == 0


@pytest.mark.parametrize("width", [390, 320])
def test_the_longest_names_fit_on_a_phone(stage: Stage, window: OpenWindow, width: int) -> None:
    """Names of peers and forwards have up to 63 characters, and are what can be chosen from."""
    peer, share = "p" * 63, "forward " + "f" * 63
    stage.scene.health = scene.health(hostile=peer)
    stage.scene.status["peers"][0] |= {"name": peer, "shares": [stage.scene.status["peers"][0]["shares"][0]]}
    stage.scene.status["peers"][0]["shares"][0]["name"] = share
    stage.scene.history = replace(stage.scene.history, choices=["site", f"peer {peer}", share])
    page = window(stage.url, width=width)
    page.until_shown()
    page.until("document.querySelector('select[name=share]').options.length === 2")
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_links_at_the_top_lead_to_the_sections_on_a_phone_too(stage: Stage, window: OpenWindow) -> None:
    page = window(stage.url, width=390)
    page.until_shown()
    page.page.get_by_role("link", name="Events").press("Enter")
    page.until(
        """() => {
            const title = document.querySelector('#events-title').getBoundingClientRect();
            return title.top >= document.querySelector('.top').offsetHeight && title.bottom <= innerHeight;
        }"""
    )


def test_it_says_what_is_wrong_and_what_to_do(stage: Stage, window: OpenWindow) -> None:
    page = window(stage.url)
    page.until_text("#verdict-level", "Replication is degraded")
    page.until_text("#verdict-words", "no lane for 12 min 34 s")
    badges = page.texts("#reasons .badge")
    assert badges == ["Critical", "Attention"], "the worst comes first"
    assert "see whether the line" in page.texts("#reasons .remedy")[0]
    assert "IST-102" in page.texts("#reasons .about")[0]
    assert page.page.title() == "Degraded · east · Isthmus"


def test_a_reason_that_two_peers_or_lanes_have_is_told_of_each(stage: Stage, window: OpenWindow) -> None:
    def flaps(peer: str) -> Reason:
        return scene.reason("IST-105", Level.ATTENTION, f"the tunnel to {peer} was lost 4 times in ten minutes", "look")

    silent = scene.reason("IST-106", Level.DEGRADED, "nothing is heard on it", "see its line")
    west, north = stage.scene.health.peers
    lanes = [replace(scene.lane(number), reasons=[silent]) for number in (1, 2, 3)]
    peers = [
        replace(peer, reasons=[], tunnel=replace(west.tunnel, reasons=[flaps(peer.name)], lanes=lanes))
        for peer in (west, north)
    ]
    stage.scene.health = replace(stage.scene.health, reasons=[], peers=peers)
    page = window(stage.url)
    page.until_text("#reasons", "north")
    assert page.texts("#reasons .words") == [
        "Lane 1 to west: nothing is heard on it; likewise lanes 2, 3",
        "Lane 1 to north: nothing is heard on it; likewise lanes 2, 3",
        "The tunnel to west was lost 4 times in ten minutes",
        "The tunnel to north was lost 4 times in ten minutes",
    ]


def test_a_healthy_site_is_calm(stage: Stage, window: OpenWindow) -> None:
    west = stage.scene.health.peers[0]
    stage.scene.health = replace(stage.scene.health, level=Level.HEALTHY, reasons=[], peers=[west])
    page = window(stage.url)
    page.until_text("#verdict-level", "Replication is healthy")
    page.until_text("#verdict-words", "The tunnel is up, with 4 streams.")
    assert page.page.locator("#reasons-panel").is_hidden()


def test_streams_are_asked_for_only_where_they_do_not_come_by_themselves(stage: Stage, window: OpenWindow) -> None:
    """A site describes each of its thousand streams for whoever asks for them, or for a status that has them."""
    page = window("about:blank")
    asked: list[str] = []
    page.hear("request", lambda request: asked.append(request.url.partition("/api/v1/")[2]))
    page.page.goto(stage.url)
    page.until_text("#streams-count", "4 of 4 live streams")
    stage.scene.streams = stage.scene.streams[:3]
    page.until_text("#streams-count", "3 of 3 live streams")
    assert [each for each in asked if each.startswith("streams")] == []
    page.page.select_option("select[name=peer]", "west")
    page.until_text("#streams-count", "3 of 3 live streams")
    eventually(lambda: any(each.startswith("streams?peer=west") for each in asked), "they are asked for", page)
    assert {each for each in asked if each.startswith("status")} == {"status?streams=none"}
    page.page.select_option("select[name=peer]", "")
    stage.scene.streams = []
    page.until_text("#streams-table", "There are no streams.")


def test_charts_draw(stage: Stage, window: OpenWindow) -> None:
    """Something is painted in the colours of both lines, and the same figures stand in text and in the table."""
    page = window(stage.url)
    page.until_shown()
    page.until(f"({PAINTED})().flat().every((count) => count > 100)")
    assert "LAN: average" in (page.page.locator(".plot").first.get_attribute("aria-label") or "")
    page.page.locator("details > summary").first.click()
    assert len(page.rows("#chart-sent")) == 12
    assert page.complaints == []


def test_a_step_that_stands_alone_is_drawn(stage: Stage, window: OpenWindow) -> None:
    """A site that began an hour ago has one step of 30 days."""
    history = stage.scene.history
    alone = {
        name: [None] * 100 + [4e8 if name.startswith("lan") else 1e8] + [None] * 199 for name in asdict(history.chart)
    }
    stage.scene.history = replace(history, chart=Chart(**alone))
    page = window(stage.url)
    page.until_shown()
    page.until(f"({PAINTED})().flat().every((count) => count > 10)")


def test_a_range_and_a_forward_can_be_chosen(stage: Stage, window: OpenWindow) -> None:
    page = window(stage.url)
    page.until_shown()
    page.page.get_by_role("button", name="7 days").click()
    page.until_text("#throughput-range", "of the site, over 7 days")
    page.page.select_option("#of", "forward replication")
    page.until_text("#throughput-range", "of the forward replication, over 7 days")
    assert page.page.get_by_role("button", name="7 days").get_attribute("aria-pressed") == "true"


def test_a_forward_that_is_gone_gives_way_to_the_site(stage: Stage, window: OpenWindow) -> None:
    """As after a restart with another file."""
    page = window(stage.url)
    page.until_shown()
    page.page.select_option("#of", "forward replication")
    page.until_text("#throughput-range", "of the forward replication")
    stage.scene.history = replace(stage.scene.history, choices=["site", "peer west"])
    page.until_text("#throughput-range", "of the site, over 5 min in steps of 1 s; there is no forward replication")
    assert page.page.locator("#of").input_value() == "site"
    assert page.texts("#of option") == ["site", "peer west"]
    page.page.select_option("#of", "peer west")
    page.until_text("#throughput-range", "of the peer west")
    assert "there is no" not in page.texts("#throughput-range")[0]


def test_figures_name_the_range_that_they_are_of(stage: Stage, window: OpenWindow) -> None:
    """Also when another one was chosen, and is not answered."""
    page = window(stage.url)
    page.until_shown()
    stage.busy = True
    with page.page.expect_response(lambda response: "7d" in response.url):
        page.page.get_by_role("button", name="7 days").click()
    drawn = page.texts("#savings-tiles .figure")
    eventually(lambda: page.texts("#savings-tiles .figure") != drawn, "the rates of now", page)
    assert "over 5 min" in page.texts("#savings-tiles")[0]


def test_sections_that_are_not_answered_say_of_when_they_are(stage: Stage, window: OpenWindow) -> None:
    """While the site lives, and has no time for answers: by the page's own clock, which the test turns."""
    marks = {
        "#savings-title": "What does Isthmus save?",
        "#shares-panel h3": "Guarantees and limits",
        "#store-title": "What is stored?",
        "#streams-title": "Streams",
        "#volumes-title": "iSCSI volumes",
        "#events-title": "Events",
    }
    page = window(stage.url, clock=True)
    page.until_shown()
    page.until_text("#volumes-table", "LUN 1")
    page.page.select_option("select[name=peer]", "north")  # streams that do not come by themselves
    page.until_text("#streams-count", "1 of 4")
    assert page.page.locator(".stale:visible").count() == 0
    stage.busy = True
    stage.scene.events = [*stage.scene.events, replace(stage.scene.events[-1], number=5)]
    page.page.clock.fast_forward(60_000)
    for place, title in marks.items():
        page.until_text(place, "as of ")
        words = page.texts(place)[0]
        assert words.startswith(title)
        assert words.endswith(": the site has no more time for answers")
        assert re.search(r"as of (\d\d:\d\d:\d\d|\d+ \w+ \d\d:\d\d):", words)  # it may have been yesterday
    page.until_text("#signal", "live")
    assert page.axe() == []
    stage.busy = False
    page.page.clock.fast_forward(60_000)
    page.until("![...document.querySelectorAll('.stale')].some((mark) => mark.checkVisibility())")
    assert page.texts("#store-title") == ["What is stored?"]


def test_a_section_that_was_never_answered_says_so(stage: Stage, window: OpenWindow) -> None:
    stage.busy = True
    page = window(stage.url, clock=True)
    page.until_text("#signal", "live")
    page.page.clock.fast_forward(60_000)
    page.until_text("#store-title", "no answer yet: the site has no more time for answers")


def test_gains_that_are_not_kept_are_not_denied(stage: Stage, window: OpenWindow) -> None:
    """History is of so many series only: with many peers there is none of some forwards, or of any."""
    history = stage.scene.history
    choices = [each for each in history.choices if each != "forward replication"]
    stage.scene.history = replace(history, gains=history.gains[1:], choices=choices)
    page = window(stage.url)
    page.until_text("#gains-beyond", "1 forward or export has no gains here: history is kept of 4 at most")
    assert page.page.locator("#gains tbody tr").count() == 2
    stage.scene.history = replace(stage.scene.history, gains=[], choices=["site", "peer west"])
    page.until_text("#gains-beyond", "2 forwards and exports have no gains here: history is kept of 2 at most")
    assert page.page.get_by_text("There is no forward").count() == 0
    stage.scene.status["peers"][0]["shares"] = []
    page.until_text("#gains-beyond", "There is no forward and no export.")


def test_filters_filter(stage: Stage, window: OpenWindow) -> None:
    page = window(stage.url)
    page.until_shown()
    page.until("document.querySelectorAll('#streams-table tbody tr').length === 4")
    page.page.select_option("select[name=peer]", "north")
    page.until_text("#streams-count", "1 of 4 live streams")
    assert [row[0] for row in page.rows("#streams-table")] == ["4 | north"]
    page.page.fill("input[name=search]", "no such origin")
    page.until_text("#streams-count", "0 of 4 live streams")
    assert page.page.get_by_text("No stream passes these filters.").is_visible()
    page.page.select_option("#severity", "error")
    page.until("document.querySelectorAll('#events-table tbody tr').length === 1")
    assert page.rows("#events-table")[0][2] == "IST-102"


def test_warnings_of_one_code_and_subject_show_each_and_go_when_they_are_over(stage: Stage, window: OpenWindow) -> None:
    def warn(words: str) -> None:
        stage.scene.warnings = [
            replace(scene.warning(), words=f"a rate to {peer} held back {words}") for peer in ("west", "north")
        ]

    page = window(stage.url)
    for words in ("1 GiB", "2 GiB", "3 GiB"):
        warn(words)
        page.until_text("#cautions", f"to north held back {words}")
        assert page.page.locator("#cautions li").count() == 2
    stage.scene.warnings = []
    page.until("document.getElementById('warnings-link').textContent === 'Warnings'")
    assert page.page.locator("#cautions li").count() == 0


def test_rows_that_stay_are_not_moved(stage: Stage, window: OpenWindow) -> None:
    """What is selected, focused or being read aloud in them stays, also when one before them goes."""
    page = window(stage.url)
    moved = page.page.evaluate(
        """async () => {
            const { h, reconcile } = await import("/static/js/dom.js");
            const place = h("ul");
            const show = (keys) => reconcile(place, keys, (key) => key, () => h("li"), () => {});
            show(["a", "b", "b", "c"]);
            const [, ...kept] = place.children;
            const watch = new MutationObserver(() => {});
            watch.observe(place, { childList: true });
            show(["b", "b", "c"]);
            return [watch.takeRecords().length, kept.every((one, at) => place.children[at] === one)];
        }"""
    )
    assert moved == [1, True]


def test_hostile_names_stay_text(stage: Stage, window: OpenWindow) -> None:
    stage.scene = Scene(
        health=scene.health(hostile=HOSTILE),
        streams=[scene.stream(1, peer=HOSTILE, name=HOSTILE)],
        status=scene.status(hostile=HOSTILE),
        events=scene.events(HOSTILE),
    )
    page = window(stage.url)
    page.until_shown()
    for place in ("#ladder", "#verdicts", "#streams-table", "#volumes-table", "#events-table"):
        page.until_text(place, HOSTILE)
    assert page.page.locator("main img, main script").count() == 0
    assert page.page.title() == "Degraded · east · Isthmus"
    assert page.complaints == []


def test_silence_shows_within_three_seconds(stage: Stage, window: OpenWindow) -> None:
    """By the page's own clock, which the test turns: how busy this machine is does not matter."""
    page = window(stage.url, clock=True)
    page.until_text("#signal", "live")
    stage.silent = True
    page.page.clock.pause_at(page.page.evaluate("Date.now() + 10"))
    page.page.clock.run_for(3000)
    assert "no answer since" in page.texts("#signal")[0]
    assert "No answer since" in page.texts("#lost")[0]
    stage.silent = False
    page.page.clock.resume()
    page.until_text("#signal", "live")
    assert page.page.locator("#lost").is_hidden()


def test_events_that_come_at_once_are_drawn_once(stage: Stage, window: OpenWindow) -> None:
    """Two hundred drawn one by one took seconds, and more than a second's worth may come in one message."""
    page = window(stage.url)
    page.until_text("#signal", "live")
    drawn = page.page.evaluate(
        """async () => {
            const { Events } = await import("/static/js/events.js");
            const events = new Events(), shown = [];
            events.table.show = (rows) => shown.push(rows.length);
            for (let number = 1; number <= 200; number++) events.add([{ number, severity: "info" }]);
            await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
            return shown;
        }"""
    )
    assert drawn == [200]


def test_events_of_a_site_that_has_begun_anew_are_all_shown(stage: Stage, window: OpenWindow) -> None:
    """Where nothing is kept on disk its numbers begin with 1 again, and may have passed the last one that was seen."""
    page = window(stage.url)
    page.until_text("#events-table", "the last lane was lost")
    stage.silent = True
    page.until_text("#signal", "no answer since")
    former = stage.scene.events[-1]
    stage.scene.events = [replace(former, number=number, words=f"new event {number}") for number in range(1, 7)]
    stage.silent = False
    page.until_text("#events-table", "new event 6")
    rows = [row[-1].split(" (")[0] for row in page.rows("#events-table")]
    assert rows == [f"new event {number}" for number in range(6, 0, -1)]


def test_why_it_is_not_answered_follows_what_the_site_says(stage: Stage, window: OpenWindow) -> None:
    page = window(stage.url)
    page.until_shown()
    stage.silent = True
    page.until_text("#lost", "The site process has ended, or it cannot be reached")
    stage.crowded, stage.silent = True, False
    page.until_text("#lost", "32 listen already; what is below is from before")


def test_a_browser_that_stores_nothing_is_served(window: OpenWindow) -> None:
    with staged(Scene(), token=True) as stage:
        page = window("about:blank", own=True)
        refusal = "{ get() { throw new DOMException('storage is off', 'SecurityError'); } }"
        for name in ("localStorage", "sessionStorage"):
            page.page.add_init_script(f"Object.defineProperty(window, '{name}', {refusal})")
        page.page.goto(stage.url)
        page.give_token(TOKEN)
        page.until_shown()
        page.page.select_option("#theme", "dark")
        assert page.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_site_that_has_ended_is_said_and_come_back_to(window: OpenWindow) -> None:
    with staged(Scene()) as stage:
        page = window(stage.url)
        page.until_shown()
    page.until_text("#signal", "no answer since")
    page.until_text("[role=alert]", "what is below is from before")
    assert page.axe() == []


def test_a_token_is_asked_for(window: OpenWindow) -> None:
    with staged(Scene(), token=True) as stage:
        page = window(stage.url)
        page.give_token("wrong")
        page.until_text("#token-problem", "not this listener's")
        page.give_token(TOKEN)
        page.until_shown()


def test_a_right_that_ends_shows_and_is_come_back_to(stage: Stage, window: OpenWindow) -> None:
    """Also when nobody gives a token: what is below the closed dialog is marked, and the page asks again by itself."""
    page = window(stage.url, clock=True)
    page.until_shown()
    page.until_text("#signal", "live")
    stage.token = "another"
    page.until("document.getElementById('token-dialog').open")
    page.page.keyboard.press("Escape")
    page.until("!document.getElementById('token-dialog').open")
    page.until_text("#signal", "a token is needed")
    page.until_text("#lost", "that token is not this listener's. What is below is from before.")
    assert page.page.locator("#lost").is_visible()
    assert "grayscale" in page.page.evaluate("getComputedStyle(document.querySelector('main')).filter")
    assert page.axe() == []
    times = stage.turned_away
    page.page.clock.fast_forward(31_000)
    eventually(lambda: stage.turned_away > times, "it asks again", page)
    assert not page.page.evaluate("document.getElementById('token-dialog').open"), "and interrupts nobody"
    page.page.get_by_role("button", name="Give a token").press("Enter")
    page.until("document.getElementById('token-dialog').open")
    stage.token = ""
    page.page.clock.fast_forward(31_000)
    page.until_text("#signal", "live")
    page.until("!document.getElementById('token-dialog').open")
    assert page.page.locator("#lost").is_hidden()
    assert page.page.get_by_role("button", name="Give a token").is_hidden()


def test_the_keyboard_reaches_everything(stage: Stage, window: OpenWindow) -> None:
    page = window(stage.url)
    page.until_shown()
    reached = set()
    for _ in range(40):
        page.page.keyboard.press("Tab")
        reached.add(page.page.evaluate("document.activeElement.id || document.activeElement.name"))
    wanted = {"theme", "of", "search", "peer", "share", "limited_by", "order", "severity"}
    assert wanted <= reached
    page.page.select_option("#theme", "dark")
    assert page.page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.page.reload()
    assert page.page.evaluate("document.documentElement.dataset.theme") == "dark", "the choice is kept"


def test_how_many_look_ups_are_sampled_is_said(stage: Stage, window: OpenWindow) -> None:
    stage.scene.store = replace(stage.scene.store, hits_by_age=[])
    page = window(stage.url)
    page.until_text("#ages", "one look-up in 256 is")


def test_figures_read_as_the_command_line_prints_them(stage: Stage, window: OpenWindow) -> None:
    values = [0, 7, 999, 1000, 1023, 1536, 123_456, 5_000_000, 987_654_321, 3_200_000_000_000]
    page = window(stage.url)
    shown = page.page.evaluate(
        """async (values) => {
            const { size, rate, duration, count } = await import("/static/js/format.js");
            return values.map((value) => [size(value), rate(value), duration(value), count(value)]);
        }""",
        values,
    )
    assert shown == [[cells.size(each), cells.rate(each), cells.duration(each), cells.number(each)] for each in values]


def test_a_token_that_no_header_can_carry_is_a_wrong_one(window: OpenWindow) -> None:
    """Copied from a letter, with quotation marks or what cannot be seen: the site is there all the same."""
    with staged(Scene(), token=True) as stage:
        page = window(stage.url)
        for mistaken in ("\u201ctoken\u201d", f"{TOKEN}\u200b"):
            page.give_token(mistaken)
            page.until_text("#token-problem", "not this listener's")
        page.give_token(f" {TOKEN} ")
        page.until_shown()
