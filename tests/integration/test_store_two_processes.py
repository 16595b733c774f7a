"""Two processes on one store (row 18 of the fault table): the second refuses to start and says who holds it."""

import socket
from pathlib import Path

import pytest

from dedupstore import open_store, purge_store
from dedupstore.errors import StoreBusy
from tests.conformance.child import SIZE, started


def test_the_second_refuses_and_names_the_first(tmp_path: Path) -> None:
    with started("hold", tmp_path) as owner:
        with pytest.raises(StoreBusy) as caught:
            open_store("disk", SIZE, tmp_path)
        assert f"process {owner.pid} on {socket.gethostname()} since " in str(caught.value)
        assert str(tmp_path) in str(caught.value)
    open_store("disk", SIZE, tmp_path).close()


def test_a_lock_that_was_deleted_lets_nobody_in(tmp_path: Path) -> None:
    """Two processes wrote over each other's containers: no byte was wrong, and most of the store was lost."""
    with started("hold", tmp_path) as owner:
        (tmp_path / "lock").unlink()
        for attempt in (lambda: open_store("disk", SIZE, tmp_path), lambda: purge_store(tmp_path)):
            with pytest.raises(
                StoreBusy, match=r"has locked its directory \(perhaps its file `lock` was deleted\); stop"
            ):
                attempt()
        owner.kill()
        owner.wait()
    open_store("disk", SIZE, tmp_path).close()


def test_a_killed_owner_leaves_no_lock(tmp_path: Path) -> None:
    with started("hold", tmp_path) as owner:
        owner.kill()
        owner.wait()
        open_store("disk", SIZE, tmp_path).close()
