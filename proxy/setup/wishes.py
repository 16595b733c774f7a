"""What an operator says of a new site; as text, since whether it is right is for `proxy.config` to say."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Way:
    """An export's name, and an address: of the array (an export), or where the near array connects to (a forward)."""

    export: str
    address: str


@dataclass(frozen=True, slots=True)
class Wishes:
    """Values as they are to stand in the file; None: the key is left out."""

    site: str
    peer: str
    """The other site's name."""
    listen: str | None
    """Where the other site dials in."""
    peer_address: str | None
    """Where it is dialled."""
    forwards: tuple[Way, ...]
    exports: tuple[Way, ...]
    store: str
    """memory or disk."""
    store_size: str
    store_path: str | None
    """Of a disk store; None: a directory beside the file."""
    rate: str | None
    """What is sent to the other site at most."""
    status: str | None
    """Where the status listener is."""
    history: str | None
    """The file that keeps history and events."""
