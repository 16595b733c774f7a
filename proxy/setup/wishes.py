"""What an operator says of a new site; as text, since whether it is right is for `proxy.config` to say."""

from dataclasses import dataclass

DEFAULT_EXPORT = "array"


@dataclass(frozen=True, slots=True)
class Way:
    """An export's name, and an address: of the array (an export), or where the near array connects to (a forward)."""

    export: str
    address: str


@dataclass(frozen=True, slots=True)
class Wishes:
    """Values as they are to stand in the file, but for `reach`; None: the key is left out."""

    site: str = ""
    peer: str = ""
    """The other site's name."""
    listen: str | None = None
    """Where the other site dials in."""
    reach: str | None = None
    """By which address it does; None: `listen`."""
    peer_address: str | None = None
    """Where it is dialled."""
    forwards: tuple[Way, ...] = ()
    exports: tuple[Way, ...] = ()
    store: str = "disk"
    """memory or disk."""
    store_size: str = "10GiB"
    store_path: str | None = None
    """Of a disk store; None: a directory beside the file."""
    rate: str | None = None
    """What is sent to the other site at most."""
    status: str | None = None
    """Where the status listener is."""
    history: str | None = None
    """The file that keeps history and events."""
