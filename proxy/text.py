"""Text made fit for a terminal, a log line, or a shell."""

import re
import shlex


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


def remaining(seconds: float) -> str:
    """How long something still lasts, never rounded up: 29 days, 21 h, 40 min, 8 s."""
    for span, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * span:
            return f"{seconds // span:.0f} {unit}"
    return f"{seconds // 1:.0f} s"


def typed(*words: object) -> str:
    """A command line quoted so that it can be typed or copied, whatever its paths contain: spaces most of all."""
    return shlex.join(map(str, words))
