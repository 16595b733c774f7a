"""What can be typed after `isthmus bench`; see `proxy.cli.commands`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from proxy.cli.parts import PATH, examples, perform


@click.group(
    epilog=examples(
        "isthmus bench list",
        "isthmus bench run field --scale 1/16 --out results",
        "isthmus bench report results --html report.html",
    )
)
def bench() -> None:
    """Replay the field's own tests, and report.

    Suites of measurements on emulated lines and with a real iSCSI target, beside the figures that others have
    published for the same. Most need root and a machine that has nothing else to do.
    """


_scale: Callable[[Any], Any] = click.option(
    "--scale",
    metavar="SHARE",
    help="Part of the real sizes and times, such as 1/16. [default: a small one for each suite]",
)


@bench.command("list", epilog=examples("isthmus bench list", "isthmus bench list field", "isthmus bench list all"))
@click.argument("suites", nargs=-1, metavar="[SUITES]")
@_scale
def list_suites(suites: tuple[str, ...], scale: str | None) -> int | None:
    """List the suites, or their cells.

    Without a name the suites, how many cells they have, and about how long they take; with names their cells.
    """
    return perform("bench", suites, scale, action="list_suites")


@bench.command(
    "run",
    epilog=examples(
        "isthmus bench run field",
        "isthmus bench run field --only singly --scale 1 --repeat 3",
        "isthmus bench run alternatives --command ./other-proxy.sh",
        "isthmus bench run all",
    ),
)
@click.argument("suites", nargs=-1, required=True, metavar="SUITES")
@_scale
@click.option("--only", multiple=True, metavar="CELLS", help="Cells, by name or shell pattern; repeatable.")
@click.option(
    "--repeat", type=click.IntRange(1, 100), default=1, show_default=True, help="How often to measure everything."
)
@click.option(
    "--out",
    type=PATH,
    default=Path("bench-results"),
    show_default=True,
    metavar="DIR",
    help="Where results are kept.",
)
@click.option("--command", default="", metavar="COMMAND", help="Another proxy for the alternatives (bench/README.md).")
@click.option("--again", is_flag=True, help="Measure again what is finished.")
def run_bench(**options: Any) -> int | None:
    """Measure suites.

    Each result is kept as soon as it is there. What is finished is skipped, so the same command goes on after an
    interruption. Exits with 1 if a trial failed or bytes differ.
    """
    return perform("bench", options)


@bench.command("report", epilog=examples("isthmus bench report bench-results --html report.html"))
@click.argument("directory", metavar="DIR", type=PATH)
@click.option("--html", type=PATH, metavar="FILE", help="Write one self-contained page.")
@click.option("--markdown", type=PATH, metavar="FILE", help="Write Markdown; plots beside it.")
def bench_report(directory: Path, html: Path | None, markdown: Path | None) -> int | None:
    """Report what was measured.

    Tables with the published figures beside the measured ones, plots, and what they say in plain words; as Markdown
    on stdout, if no file is named.
    """
    return perform("bench", directory, html, markdown, action="report")
