"""What one transaction of the index changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dedupstore.beliefs import Notes
from dedupstore.container import Container
from dedupstore.roster import Row


@dataclass(slots=True)
class Change:
    """What one transaction changes: all of it, or nothing."""

    next: int
    """The id that the next container will get."""
    removed: Mapping[int, list[bytes]] = field(default_factory=dict)
    """Containers that are removed, with the fingerprints in them as far as they are known."""
    added: list[tuple[Container, Row]] = field(default_factory=list)
    lost: Mapping[bytes, int] = field(default_factory=dict)
    """Chunks that turned out invalid, each with its container."""
    rows: dict[int, Row] = field(default_factory=dict)
    """Rows of containers that lost chunks."""
    notes: Notes | None = None

    def __bool__(self) -> bool:
        return bool(self.removed or self.added or self.lost or self.rows or self.notes)

    def forget(self, container: int) -> None:
        """The container was removed since the change was put together: note nothing about it."""
        self.rows.pop(container, None)
        if self.notes is not None:
            self.notes.bits = {key: bits for key, bits in self.notes.bits.items() if key[1] != container}

    @property
    def keys(self) -> int:
        """How many keys of the index it touches, more or less."""
        names = sum(len(names) for names in self.removed.values())
        return names + sum(len(container.fingerprints) for container, _ in self.added) + len(self.lost)
