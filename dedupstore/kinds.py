"""Refuses what no store makes: it is somebody else's, or a mistake, and opening some of it would wait for ever."""

from pathlib import Path

from dedupstore.errors import StoreUnusable

APART = "name a directory of its own as store.path, or move that away"


def refuse_all_but_files(store: Path, *names: str) -> None:
    """Refuse what has one of these names below the store and is no plain file. Raises StoreUnusable or OSError."""
    for place in (store / name for name in names):
        if place.exists() and not place.is_file():
            kind = "a directory" if place.is_dir() else "a device, a pipe or a socket"
            raise StoreUnusable(f"store {store}: {place} is {kind}, which no store makes; {APART}")


def refuse_all_but_directories(store: Path, *names: str) -> None:
    """Refuse what has one of these names below the store and is no directory. Raises StoreUnusable or OSError."""
    for place in (store / name for name in names):
        if place.exists() and not place.is_dir():
            raise StoreUnusable(f"store {store}: {place} is no directory, as a store makes it; {APART}")


def refuse_loose_ends(store: Path, *names: str) -> None:
    """Refuse links of these names that lead nowhere: a disk that is not mounted is no reason to set the rest of the
    store aside. Raises StoreUnusable or OSError.
    """
    for place in (store / name for name in names):
        if place.is_symlink() and not place.exists():
            remedy = "mount what it leads to, or delete it"
            raise StoreUnusable(f"store {store} cannot be opened: {place} is a link that leads nowhere; {remedy}")
