"""A report: what it says, that it is well formed, and that the page needs nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.replay import plots
from bench.replay.command import run
from bench.replay.document import Chapter, Notes, Plot, Report, Section, Series, Table, measured, number, percent, times
from bench.replay.markdown import markdown
from bench.replay.page import page
from bench.replay.records import Record, Records
from bench.replay.reporting import make, report
from bench.replay.results import Results
from bench.replay.suites import SUITES
from bench.replay.suites import field_published as published
from bench.replay.suites.alternatives_report import report as alternatives
from bench.replay.suites.frames_report import report as frames
from bench.replay.trial import Figure, Options, Outcome
from bench.sites import SiteFailure
from proxy.errors import ExitCode, OperatorError
from tests.unit.bench.replay.made_up import MadeUp, figure, order, raising

MACHINE = {"isthmus": "1.0", "python": "3.11", "processor": "one", "cores": 2, "load_before": 0.1, "kernel": "6.1"}
draws = pytest.mark.xdist_group("plots")
"""In one worker: Matplotlib takes most of a second to read."""
OVERVIEW = Table("In short", ("suite", "cells"), [("a", "1")])
GOLDEN = """\
# A report

What it is.

**In short**

| suite | cells |
| --- | ---: |
| a | 1 |

## A suite

Measured once.

```sh
isthmus bench run suite
```

### A section

![A plot](plots/a.svg)

**A table**

| what | how much |
| --- | ---: |
| a\\|b | 42.0 (1) |
| \\*c\\* | (2) |

(1) late\\
(2) not here

**What this says**

- It is 4.20x as fast.
"""


def record(cell: str, *figures: Figure, repeat: int = 1, suite: str = "field", **more: object) -> Record:
    state = Record(suite, cell, repeat, 1.0, {}, MACHINE | {"time": "2026"}, "done", 1.0, Outcome(figures))
    return replace(state, **more)  # type: ignore[arg-type]


def a_report() -> Report:
    notes = Notes()
    rows = [("a|b", f"{number(42)} {notes.mark('late')}"), ("*c*", notes.mark("not\nhere"))]
    plot = Plot("a", "A plot", "seconds", "Mb/s", [Series("one", [0.0, 1.0], [1.0, 2.0])])
    finding = f"It is {times(4.2)} as fast."
    section = Section("A section", "", [Table("A table", ("what", "how much"), rows, notes)], [plot], [finding])
    chapter = Chapter("A suite", "Measured once.", "isthmus bench run suite", [section])
    return Report("A report", ["What it is."], OVERVIEW, [chapter])


def test_as_markdown() -> None:
    assert markdown(a_report(), lambda plot: f"plots/{plot.name}.svg") == GOLDEN


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.sources: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@draws
def test_as_a_page_that_needs_nothing_else() -> None:
    text = page(a_report())
    found = Page(text)
    assert not found.open
    assert "script" not in found.seen
    assert "link" not in found.seen
    assert found.sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in found.sources)
    assert text == page(a_report()), "the same figures give the same page"


def test_nothing_that_was_measured_becomes_markup() -> None:
    chapter = Chapter("<script>alert(1)</script>", "<b>", "x", [])
    texts = ["![x](http://198.18.0.1/)", "[y]: http://198.18.0.1/", "[y][y]"]
    found = Page(page(Report("<i>", texts, OVERVIEW, [chapter])))
    assert not {"script", "b", "i", "img", "a"} & set(found.seen)


@draws
@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_a_plot_is_small_svg(kind: str) -> None:
    names = Series("ours", ["a", "b"], [1.0, None]) if kind == "bars" else Series("ours", [0, 1], [1.0, None])
    other = replace(names, name="published", dashed=True)
    plot = Plot("p", "A plot", "x", "y", [names, other], "bars" if kind == "bars" else "lines", "y")
    written = plots.svg(plot)
    assert ElementTree.fromstring(written).tag.endswith("svg")
    assert b"mathdefault" not in written, "no powers of ten to be read off a logarithmic axis"
    assert b"A plot" in written, "text is text"
    assert len(written) < 40_000


def test_repeats_are_put_together() -> None:
    records = tuple(record("a", figure(value), repeat=number) for number, value in enumerate((30.0, 50.0, 40.0), 1))
    found = Results(records).summary("a", "throughput")
    assert found is not None
    assert (found.value, found.spread, found.ratio, found.of_limit, found.met) == (40.0, (30.0, 50.0), 2.0, 0.8, True)
    assert measured(found, Notes()) == "40.0 [30.0 to 50.0]"


def test_what_is_held_against_is_that_of_the_last_repeat() -> None:
    """However they are found, and however long each has taken."""
    last = record("a", replace(figure(40.0), limit=80.0), repeat=2, seconds=0.5)
    found = Results((last, record("a", figure(40.0), seconds=2.0)))
    summary = found.summary("a", "throughput")
    assert summary is not None
    assert summary.of_limit == 0.5
    assert [each.repeat for each in found.cells["a"].records] == [1, 2]


def test_less_can_be_better() -> None:
    found = Results((record("a", replace(figure(10.0), more_is_better=False)),)).summary("a", "throughput")
    assert found is not None
    assert (found.ratio, found.of_limit, found.met) == (2.0, 5.0, True)


def test_why_there_is_nothing_stands_in_the_cell() -> None:
    results = Results(
        (record("a", figure(None, "10 Gb/s is not carried here")), record("b", state="failed", reason="no"))
    )
    notes = Notes()
    assert measured(results.summary("a", "throughput"), notes, results.cell("a")) == "(1)"
    assert measured(results.summary("b", "throughput"), notes, results.cell("b")) == "(2)"
    assert measured(results.summary("c", "throughput"), notes, results.cell("c")) == "-"
    assert notes.texts == ["10 Gb/s is not carried here", "no"]


def test_what_arrived_wrong_is_no_result() -> None:
    wrong = Outcome((figure(133_920.0),), {"line": [[0.0, 1.0]]}, complaint="the connection failed")
    results = Results((record("a", outcome=wrong), record("b", figure(40.0)), record("b", repeat=2, outcome=wrong)))
    notes = Notes()
    assert measured(results.summary("a", "throughput"), notes, results.cell("a")) == "(1)"
    assert measured(results.summary("b", "throughput"), notes, results.cell("b")) == "40.0 (1)"
    assert notes.texts == ["the connection failed"]
    assert [name for name, _ in results.summaries()] == ["b"], "no ratio and no goal is judged by it"
    cell = results.cell("a")
    assert cell is not None
    assert not cell.samples


def test_the_best_other_is_one_that_arrived() -> None:
    wrong = Outcome((figure(900.0),), complaint="the bytes that arrived differ from those that were sent")
    records = [record("tcp-bbr/f5vol3/1", figure(40.0)), record("tcp-cubic/f5vol3/1", outcome=wrong)]
    (section,) = alternatives(Results((*records, record("isthmus/f5vol3/1", figure(80.0)))))
    row = next(row for row in section.tables[0].rows if row[:2] == ("f5vol3", "1"))
    assert row[-1] == "2.00x"
    (section,) = alternatives(Results((*records, record("isthmus/f5vol3/1", outcome=wrong))))
    assert not section.findings
    (section,) = alternatives(Results((record("isthmus/f5vol3/1", figure(80.0), scale=0.01),)))
    assert [finding[:20] for finding in section.findings] == ["Published is scale 1"]


def test_frames_measured_on_a_busy_machine_say_little() -> None:
    """Its cells said so, its findings did not."""
    cells = [
        f"oc3/mtu{mtu}/loss{loss}/{way}" for mtu in (1500, 9000) for loss in (0, 1) for way in ("direct", "isthmus")
    ]
    for remark, little in (("", False), ("the cores were busy", True)):
        outcome = Outcome((replace(figure(80.0), remark=remark),))
        sections = frames(Results(tuple(record(cell, outcome=outcome, suite="frames") for cell in cells)))
        findings = [finding for section in sections for finding in section.findings]
        assert len(findings) == 2
        assert all(("(the cores were busy: this says little)" in finding) == little for finding in findings)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (number(0.4217), "0.42"),
        (number(42.17), "42.2"),
        (number(4217), "4,217"),
        (number(None), "-"),
        (times(0.5), "0.50x"),
        (percent(0.0), "0%"),
        (percent(0.025), "2.5%"),
        (percent(0.5), "50%"),
    ],
)
def test_texts_of_figures(text: str, shown: str) -> None:
    assert text == shown


def field_records(scale: float, ratio: float) -> Iterator[Record]:
    """Every cell of the field test, that many times as fast as published."""
    for trial in SUITES["field"].trials(Options(1.0)):
        for cell in trial.cells:
            how, one, other, pass_ = cell.split("/")
            volume, store = (one, other) if how == "singly" else (other, one)
            told = published.throughput(how, volume, store, int(pass_))
            rate = Figure("throughput", (told or 500.0) * ratio, "MB/min", True, told, 1000.0, told)
            samples = {"line": [[0.0, 0.0], [1.0, 5e6], [2.0, 1e7]]}
            found = Outcome((rate, Figure("elapsed", 60.0, "s", False), Figure("line in use", 90.0, "%")), samples)
            yield record(cell, scale=scale, outcome=found)


def kept(directory: Path, records: Iterator[Record]) -> Path:
    for each in records:
        Records(directory).keep(each)
    return directory


def test_the_field_test_stands_beside_what_was_published(tmp_path: Path) -> None:
    text = markdown(make(kept(tmp_path, field_records(1 / 16, 4.0))), lambda plot: plot.name)
    assert "| f5vol3 | disk | 1 | 28m21s | 78.0 | 312 | 16m00s | 4.00x | 1,000 | 31% | yes |" in text
    assert "| total | disk | 3 | - | 1,142 | 4,568 |" in text
    assert "| field | 42 | 42 | 22 | 4.00x | 22 of 22 |" in text
    assert "No cell is slower than published." in text
    assert "the line is 90.0 % in use" in text
    for plot in ("field-singly", "field-singly-line", "field-together", "field-together-line"):
        assert f"]({plot})" in text


def test_findings_say_what_is_slower(tmp_path: Path) -> None:
    text = markdown(make(kept(tmp_path, field_records(1.0, 0.5))), lambda plot: plot.name)
    assert "Slower than published: f5vol4, memory, pass 1;" in text
    assert "0 of 10 goals are met." in text


def test_larger_windows_that_cost_time_are_not_shown_as_none_saved(tmp_path: Path) -> None:
    rates = {"1g/1ms/72KB": 500.0, "1g/1ms/1MB": 400.0, "1g/10ms/72KB": 50.0, "1g/10ms/1MB": 200.0}
    for cell, rate in rates.items():
        found = Outcome((Figure("throughput", rate, "Mb/s"),))
        Records(tmp_path).keep(record(f"{cell}/direct", suite="window", outcome=found))
    text = markdown(make(tmp_path), lambda plot: plot.name)
    assert "windows of 1 MB instead of 72 KB save -25% to 75% of the time" in text


def test_a_chapter_says_how_its_suite_was_measured_and_what_failed(made_up: MadeUp, tmp_path: Path) -> None:
    made_up.troubles["alone"] = raising(SiteFailure("site east ended by itself; the end of its log:\n" + "x " * 999))
    run(order(tmp_path))
    text = markdown(make(tmp_path), lambda plot: plot.name)
    assert "Measured once at scale 1/4, from 20" in text
    assert "isthmus bench run made-up --scale 1/4" in text
    assert "| passes/1 | 41.0 |" in text
    assert "| alone | (1) |" in text
    assert "(1) site east ended by itself; the end of its log: x x" in text
    assert "2 of 2 goals are met." in text
    assert max(map(len, text.splitlines())) < 1000


@draws
def test_the_files_of_a_report(made_up: MadeUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(tmp_path / "results", field_records(1.0, 2.0))
    html, text = tmp_path / "out" / "report.html", tmp_path / "out" / "RESULTS.md"
    assert report(tmp_path / "results", html, text) == ExitCode.OK
    assert not Page(html.read_text()).open
    shown = text.read_text()
    pictures = sorted((tmp_path / "out" / "RESULTS-plots").iterdir())
    assert len(pictures) == 4
    assert all(f"](RESULTS-plots/{picture.name})" in shown for picture in pictures)
    assert capsys.readouterr().out == ""
    assert report(tmp_path / "results", None, None) == ExitCode.OK
    assert capsys.readouterr().out.startswith("# Isthmus")


def test_no_results(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"there are no results in .*; isthmus bench run SUITE --out .* makes some"):
        make(tmp_path / "nowhere")


def test_results_of_a_suite_that_is_not_known_are_not_left_out_in_silence(tmp_path: Path) -> None:
    Records(tmp_path).keep(record("a/b", suite="coming"))
    with pytest.raises(OperatorError, match="results of suites that are not known here: coming; move them away"):
        make(tmp_path)


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    kept(tmp_path / "results", field_records(1.0, 2.0))
    with pytest.raises(OperatorError, match="results cannot be written: Is a directory"):
        report(tmp_path / "results", tmp_path / "results", None)
