"""What must not leave the host: found in files that a site's file names, and taken out of whatever is handed over."""

import re
from collections.abc import Iterable
from pathlib import Path

REMOVED = b"(removed by isthmus support-bundle)"
SHORTEST = 8
"""Characters; what is shorter is no token, and would be found in half of all words."""
_LARGEST = 1 << 16
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)


class Secrets:
    """Values that are known to be secret."""

    def __init__(self, paths: Iterable[Path]) -> None:
        """Of these files each line is one, but for the frame of a PEM file. A file that cannot be read has none."""
        lines = {line.strip() for path in paths for line in _lines(path)}
        secret = sorted(
            (line for line in lines if len(line) >= SHORTEST and b"-----" not in line), key=len, reverse=True
        )
        self._known = re.compile(b"|".join(map(re.escape, secret))) if secret else None

    def removed(self, content: bytes) -> bytes:
        """The content without them, and without anything that looks like a private key."""
        content = _PRIVATE_KEY.sub(REMOVED, content)
        return self._known.sub(REMOVED, content) if self._known else content


def _lines(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).splitlines()
    except OSError:
        return []
