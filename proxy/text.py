"""Text from others, made fit for a terminal or a log line."""

import re

# C0, C1, DEL, line and paragraph separators, marks that reverse the direction of writing, lone surrogates.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with everything that could move a cursor, break a line or hide a word written as an escape."""
    return _UNFIT.sub(lambda match: ascii(match[0])[1:-1], text)
