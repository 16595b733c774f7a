"""What commands say, on stdout or stderr."""

import click

from proxy.text import printable


def say(words: str, *, err: bool = False) -> None:
    """One line or several, none of which moves a cursor: whatever is said may have come from another site."""
    click.echo("\n".join(map(printable, words.split("\n"))), err=err)  # noqa: TID251 (everybody else says it here)
