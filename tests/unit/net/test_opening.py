"""A store is opened aside: who waits no longer neither waits for it nor leaves it open."""

import threading
from typing import Any

import pytest

from dedupstore.errors import StoreUnusable
from dedupstore.memory import MemoryStore
from proxy.net.opening import open_aside
from tests.patience import PATIENCE


class Store(MemoryStore):
    """Says when it is closed."""

    def __init__(self) -> None:
        super().__init__(64 << 20)
        self.closed = threading.Event()

    def close(self) -> None:
        super().close()
        self.closed.set()


def test_a_store_is_given_and_stays_open() -> None:
    store = Store()
    assert open_aside(lambda: store).result(PATIENCE) is store
    assert not store.closed.is_set()


def test_a_store_that_comes_too_late_is_closed() -> None:
    store, answers = Store(), threading.Event()

    def slow() -> Store:
        answers.wait(PATIENCE)
        return store

    opened = open_aside(slow)
    assert opened.cancel()
    answers.set()
    assert store.closed.wait(PATIENCE)


@pytest.mark.parametrize("error", [StoreUnusable("no room"), ArithmeticError("a defect")])
def test_what_is_wrong_is_said(error: Exception) -> None:
    def fail() -> Any:
        raise error

    with pytest.raises(type(error), match=str(error)):
        open_aside(fail).result(PATIENCE)
