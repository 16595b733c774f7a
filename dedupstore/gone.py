"""What is gone from the store on disk but not yet from its index: containers, and single chunks of others."""

from dedupstore.change import Change


class Gone:
    """Not thread-safe: its store guards it with a lock.

    A container that is removed stays in the index until the next change is committed. One that is *displaced* stays
    longer: another container will take its slot, but until that is written the slot still has the old one, and a crash
    brings it back.
    """

    def __init__(self) -> None:
        self.lost: dict[bytes, int] = {}
        """Chunks that are not sound, each with its container. (A plain table: each look-up in the index asks it.)"""
        self._containers: dict[int, list[bytes] | None] = {}
        self._displaced: dict[int, int] = {}  # by slot; each container here is one of `_containers`, too
        self._recounted: set[int] = set()

    def remove(self, container: int, names: list[bytes] | None) -> None:
        """The container is removed, with chunks of those names; None: they have yet to be read from its slot.

        Places of chunks that are not named stay in the index until it is swept.
        """
        self._containers[container] = names
        self._recounted.discard(container)

    def names(self, container: int) -> list[bytes] | None:
        """The names of the chunks in a removed container, as `remove` was told."""
        return self._containers[container]

    def displace(self, slot: int, container: int) -> None:
        """A removed container is still in its slot, which another one will take."""
        self._displaced[slot] = container

    def displaced(self, slot: int) -> int | None:
        """The removed container that is still in that slot, or None."""
        return self._displaced.get(slot)

    def overwrite(self, slot: int) -> None:
        """The slot is about to be written over, or nobody will take it."""
        self._displaced.pop(slot, None)

    def cut(self, slots: int) -> None:
        """There are no slots above that number any more, so names of displaced containers cannot be read there.

        Those that are known go as well: the disk is full, and each may take a page of the index to be forgotten.
        """
        for slot in [slot for slot in self._displaced if slot > slots]:
            self._containers[self._displaced.pop(slot)] = []

    def recount(self, container: int) -> None:
        """The container's row counted more or fewer chunks than are sound."""
        self._recounted.add(container)

    # -- what a change brings -------------------------------------------------------------------------------------

    def removed(self) -> dict[int, list[bytes]]:
        """Containers that the index is to forget now, with the names of their chunks as far as they are known."""
        waiting = set(self._displaced.values())  # for the container that takes their slot
        return {gone: names or [] for gone, names in self._containers.items() if gone not in waiting}

    def changed(self) -> set[int]:
        """Containers whose rows count other chunks now; some may be gone."""
        return self._recounted.union(self.lost.values())

    def committed(self, change: Change) -> None:
        """The index has recorded that change: forget what it contained."""
        for container in change.removed:
            self._containers.pop(container, None)
        for name, container in change.lost.items():
            if self.lost.get(name) == container:
                del self.lost[name]
        self._recounted.difference_update(change.rows)

    def refused(self, change: Change) -> None:
        """The change could not be committed. The names that it has are dropped: lists would pile up here."""
        for container in change.removed:
            self._containers[container] = []
