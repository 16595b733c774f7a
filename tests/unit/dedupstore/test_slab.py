"""Memory that is touched ahead of need, where that can be done."""

import errno
import os

import pytest

from dedupstore.container import PAGE_BYTES, Slab


def test_each_slot_is_prepared_once() -> None:
    slab = Slab(2, PAGE_BYTES)
    assert [slab.prepare() for _ in range(3)] == [True, True, False]
    assert len(slab) == 2


@pytest.mark.parametrize("error", [errno.ENOENT, errno.EMFILE])
def test_a_slot_that_cannot_be_prepared_is_not_lost(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    """Out of descriptors, or without /dev: a defect in the store was logged, and a slot of its cache gone for good."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(error, os.strerror(error))

    slab = Slab(2, PAGE_BYTES)
    monkeypatch.setattr("dedupstore.container.open", refused, raising=False)
    assert not slab.prepare()
    assert len(slab) == 2
    assert [slab.take() is not None for _ in range(3)] == [True, True, False]
