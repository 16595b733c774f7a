"""Text from others, made fit for a terminal or a log line."""


def printable(text: str) -> str:
    """The text with everything that could move a cursor, break a line or hide a word written as an escape."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
