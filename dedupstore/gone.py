"""What has gone from the store on disk, and its index has yet to forget: containers, and single chunks of others."""

from dedupstore.index import Change


class Gone:
    """Not safe by itself: its store guards it with a lock.

    A container that goes stays in the index until the next change is committed. One that is *displaced* stays longer:
    another container will take its slot, and until that is written the slot still has it, and a crash brings it back.
    """

    def __init__(self) -> None:
        self.lost: dict[bytes, int] = {}
        """Chunks that are not sound, each with its container. (A plain table: each look-up in the index asks it.)"""
        self._containers: dict[int, list[bytes] | None] = {}
        self._displaced: dict[int, int] = {}  # by slot; each is one of the containers, too
        self._recounted: set[int] = set()

    def remove(self, container: int, names: list[bytes] | None) -> None:
        """The container goes, with chunks of those names; None: they have yet to be read from its slot.

        Places of chunks that are not named stay in the index until it is swept.
        """
        self._containers[container] = names
        self._recounted.discard(container)

    def names(self, container: int) -> list[bytes] | None:
        """Of the chunks in a container that goes, as `remove` was told."""
        return self._containers[container]

    def displace(self, slot: int, container: int) -> None:
        """A container that goes is still in its slot, which another one will take."""
        self._displaced[slot] = container

    def displaced(self, slot: int) -> int | None:
        """Which one that is."""
        return self._displaced.get(slot)

    def overwrite(self, slot: int) -> None:
        """The slot is written over, or nobody will take it."""
        self._displaced.pop(slot, None)

    def cut(self, slots: int) -> None:
        """There are no slots above that number any more: nobody reads from there what went."""
        for slot in [slot for slot in self._displaced if slot > slots]:
            self._containers[self._displaced.pop(slot)] = []

    def recount(self, container: int) -> None:
        """Its row counted more or fewer chunks than are sound."""
        self._recounted.add(container)

    # -- what a change brings -------------------------------------------------------------------------------------

    def removed(self) -> dict[int, list[bytes]]:
        """Containers that the index is to forget now, with the names of their chunks as far as they are known."""
        waiting = set(self._displaced.values())  # for the container that takes their slot
        return {gone: names or [] for gone, names in self._containers.items() if gone not in waiting}

    def changed(self) -> set[int]:
        """Containers whose rows count other chunks now; some may have gone."""
        return self._recounted.union(self.lost.values())

    def committed(self, change: Change) -> None:
        """The index has forgotten what that change said."""
        for container in change.removed:
            self._containers.pop(container, None)
        for name, container in change.lost.items():
            if self.lost.get(name) == container:
                del self.lost[name]
        self._recounted.difference_update(change.rows)

    def refused(self, change: Change) -> None:
        """The change could not be committed. The names of its chunks are given up: lists would pile up here."""
        for container in change.removed:
            self._containers[container] = []
