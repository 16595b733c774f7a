"""Text made fit for a terminal, a log line, or a shell."""

import re
import shlex
from collections.abc import Sequence


def printable(text: str) -> str:
    """The text with everything that could move a cursor, break a line or hide a word written as an escape."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def introduced(subject: str, words: str) -> str:
    """The words with what they are about in front, unless they name that: "peer west" by its name, "store" by the word.

    (js/format.js has the same for the page.)
    """
    *kind, name = subject.split(" ")
    named = {word.strip(".") for word in re.split(r"[^\w.-]+", words)}
    return words if len(kind) < 2 and name in named else f"{subject}: {words}"


def likewise(kind: str, names: Sequence[object]) -> str:
    """What ends words about one of a kind that are as true of these others, if there are any."""
    plural = "s" if len(names) > 1 else ""
    return f"; likewise {kind}{plural} {', '.join(map(str, names))}" if names else ""


def typed(*words: object) -> str:
    """A command line quoted so that it can be typed or copied, whatever its paths contain: spaces most of all."""
    return shlex.join(map(str, words))
