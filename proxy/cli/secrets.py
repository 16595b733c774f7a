"""What must not leave the host: keys and tokens that a site's file names, taken out of whatever is handed over."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proxy.config.reading import read_tree

REMOVED = b"(removed by isthmus support-bundle)"
SHORTEST = 8
"""Characters; what is shorter is no token, and would be found in half of all words."""
_HEAD = 64
"""Characters by which a longer secret is found: its end may have been cut off by whoever shows it."""
_LARGEST = 1 << 16
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_NAME = "key|token"
_VALUE = r"""("(?:\\.|[^"\\\n])*|'[^'\n]*|[^\s,}#]+)"""
_ASSIGNED = re.compile(rf"""(?:{_NAME})[\w.-]*["']?[^\S\n]*=[^\S\n]*\[?[^\S\n]*{_VALUE}""", re.IGNORECASE)
_SETTING = re.compile(rb"""^[ \t]*(?:\[+[ \t]*[\w"']|[\w."' \t-]+=[ \t]*[^=\s])""", re.MULTILINE)
"""A line as [section] or key = value, perhaps cut off; base64, which ends with =, is none."""


def is_configuration(content: bytes) -> bool:
    """Whether this may be a site's file, however broken: something in it is set.

    A key or a token that stands alone is not recognised as one, so what is not a configuration is not shown at all.
    """
    return _SETTING.search(content) is not None


class Secrets:
    """Values that are known to be secret."""

    def __init__(self, content: bytes, directory: Path) -> None:
        """Of a site's file with that content, which need not be sound, in that directory. Blocks as long as the disk.

        Whatever stands at a key that is called key or token is the path of a secret, or by mistake the secret itself.
        """
        named = {*_by_text(content.decode(errors="replace")), *_by_tree(read_tree(content), hidden=False)}
        lines = {line.strip() for value in named for line in _lines(value, directory)}
        secret = sorted(
            (line for line in lines if len(line) >= SHORTEST and b"-----" not in line), key=len, reverse=True
        )
        self._known = re.compile(b"|".join(map(_shown, secret))) if secret else None

    def removed(self, content: bytes) -> bytes:
        """The content without them, and without anything that looks like a private key."""
        content = _PRIVATE_KEY.sub(REMOVED, content)
        return self._known.sub(REMOVED, content) if self._known else content


def _by_text(text: str) -> Iterator[str]:
    """As they are written: also in comments, and where the rest of the file cannot be read."""
    return (match[1].strip("\"'") for match in _ASSIGNED.finditer(text))


def _by_tree(tree: Any, *, hidden: bool) -> Iterator[str]:
    """As they are read, however they are written. `hidden`: all of this stands at such a key."""
    match tree:
        case str() if hidden:
            yield tree
        case dict():
            for key, value in tree.items():
                yield from _by_tree(value, hidden=hidden or re.search(_NAME, key, re.IGNORECASE) is not None)
        case list():
            for value in tree:
                yield from _by_tree(value, hidden=hidden)


def _lines(value: str, directory: Path) -> list[bytes]:
    """Of the file there each line is a secret; if there is none, the value itself is."""
    try:
        with (directory / value).open("rb") as file:
            return file.read(_LARGEST).splitlines()
    except (PermissionError, IsADirectoryError):
        return []  # a path it is
    except (OSError, ValueError):
        return value.encode().splitlines()


def _shown(secret: bytes) -> bytes:
    whole = re.escape(secret)
    return whole if len(secret) <= _HEAD else whole + b"|" + re.escape(secret[:_HEAD]) + rb"[^\s\"',;]*"
