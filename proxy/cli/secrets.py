"""Removes what must not leave the host from whatever is handed over: keys, and tokens that a site's file names."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proxy.config.reading import read_tree
from proxy.files import NotAFile, read

REMOVED = b"(removed by isthmus support-bundle)"
SHORTEST = 8
"""Characters: a shorter line is no token, and would be found in half of all words."""
_HEAD = 64
"""A longer secret is recognised by so many of its first characters, since its end may have been cut off."""
_LARGEST = 1 << 16
"""Bytes that are read of a file that holds a secret."""
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_NAME = "key|token"
_VALUE = r"""("(?:\\.|[^"\\\n])*|'[^'\n]*|[^\s,}#]+)"""
_ASSIGNED = re.compile(rf"""(?:{_NAME})[\w.-]*["']?[^\S\n]*=[^\S\n]*\[?[^\S\n]*{_VALUE}""", re.IGNORECASE)


class Secrets:
    """The secrets of one site: what is in the files that its configuration names as a key or a token."""

    def __init__(self, content: bytes, directory: Path) -> None:
        """`content`: of the site's file, which need not be valid; `directory`: where it is. Reads the files. Blocking.

        The value of any setting with "key" or "token" in its name is the path of a secret, or by mistake the secret.
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
    """Values found by looking at the text: also in comments, and where the file is not valid TOML."""
    return (match[1].strip("\"'") for match in _ASSIGNED.finditer(text))


def _by_tree(tree: Any, *, hidden: bool) -> Iterator[str]:
    """Values found in the parsed file, however they are written. `hidden`: the tree is the value of such a setting."""
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
    """The lines of the file that `value` is the path of: each is a secret. If there is none, the value itself is."""
    try:
        return read(directory / value, _LARGEST).splitlines()
    except (PermissionError, NotAFile):
        return []  # it is a path, so no secret itself
    except (OSError, ValueError):
        return value.encode().splitlines()


def _shown(secret: bytes) -> bytes:
    """A pattern for the secret, or for a long one that has been cut off."""
    whole = re.escape(secret)
    return whole if len(secret) <= _HEAD else whole + b"|" + re.escape(secret[:_HEAD]) + rb"[^\s\"',;]*"
