"""The bench's tables where there is not room for them."""

from rich.console import Console

from bench.tables import plain_table


def test_no_figure_is_cut_off() -> None:
    """`isthmus demo` in 60 columns: "100.0…"."""
    table = plain_table("A demo", "volume", "saved", figures=("saved",))
    table.add_row("f5vol2", "12.34567 %")
    console = Console(width=14)
    with console.capture() as captured:
        console.print(table)
    figures = [line[8:].strip() for line in captured.get().splitlines()]
    assert "12.34567%" in "".join(figures).replace(" ", "")
    assert "…" not in captured.get()
