"""How the bench shows tables: plain, and narrow enough for a terminal of eighty columns."""

from rich import box
from rich.table import Table


def plain_table(title: str, *headings: str, figures: tuple[str, ...] = ()) -> Table:
    """A table without frames; the columns named in `figures` are flush right. What has no room goes on a line below."""
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for heading in headings:
        table.add_column(heading, justify="right" if heading in figures else "left", overflow="fold")
    return table
