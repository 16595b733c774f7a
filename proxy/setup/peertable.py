"""A peer's table in the text of a site's file: added at the end, or given a value, and nothing else is touched.

TOML can be written in ways that this does not see through, so `as_meant` reads what came out and compares.
"""

import json
import re
import tomllib
from typing import Any

from proxy.config.model import Peer
from proxy.setup.sitefile import entry, table

_HEAD = re.compile(r"\s*\[")
_KEY = re.compile(r"\s*([a-z_]+)\s*=")
_PEER = re.compile(r"\s*\[\[\s*peer\s*\]\]")


def with_peer(text: str, values: dict[str, str]) -> str:
    """The text with one more peer, of these keys."""
    return f"{text.rstrip()}\n\n{table('[[peer]]', Peer, values)}"


def with_value(text: str, index: int, key: str, value: str) -> str:
    """The text with that key of the peer of that index replaced, or added below its name."""
    lines = text.splitlines(keepends=True)
    heads = [at for at, line in enumerate(lines) if _PEER.match(line)]
    if index >= len(heads):
        return text
    first = heads[index] + 1
    last = next((at for at in range(first, len(lines)) if _HEAD.match(lines[at])), len(lines))
    places = {match[1]: at for at in range(first, last) if (match := _KEY.match(lines[at]))}
    if key in places:
        lines[places[key]] = f"{key} = {json.dumps(value)}\n"
    else:
        lines.insert(places.get("name", first - 1) + 1, f"{entry(Peer, key, value)}\n")
    return "".join(lines)


def as_meant(old: str, new: str, index: int, values: dict[str, str]) -> bool:
    """The new text is the old one, but that its peer of that index (one more, perhaps) has these values."""
    try:
        wanted, found = tomllib.loads(old), tomllib.loads(new)
    except ValueError:
        return False
    peers: list[dict[str, Any]] = wanted.setdefault("peer", [])
    if index == len(peers):
        peers.append({})
    peers[index].update(values)
    return wanted == found
