"""The store's files are deleted, moved or replaced while it is open: it goes on with them, and says that they are lost
when it ends."""

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dedupstore.disk import DiskStore
from tests.conformance.filling import chunk, fetch, healthy, name_of
from tests.unit.dedupstore.failing_disk import Clock, due
from tests.unit.dedupstore.stores import failing, opened


def look(store: DiskStore, clock: Clock) -> None:
    """A minute passes, and the store looks at what it has open."""
    assert not due(store), "it has just looked"
    clock.now += 60
    assert due(store)
    store.write()


def copied_over(file: Path) -> None:
    """As a backup that is restored."""
    copy = file.with_name("restored")
    shutil.copyfile(file, copy)
    copy.rename(file)


def with_its_directory(file: Path) -> None:
    file.parent.rename(file.parent.with_name("elsewhere"))


@pytest.mark.parametrize("name", ["containers", "index/data.mdb"])
@pytest.mark.parametrize("leave", [Path.unlink, copied_over, with_its_directory])
def test_a_file_that_is_not_the_open_one_any_more_is_named(
    filled: Path, clock: Clock, name: str, leave: Callable[[Path], None]
) -> None:
    """Nothing told before the next start, which found an empty store or set the rest aside."""
    store = opened(filled, clock=clock)
    look(store, clock)
    assert healthy(store)
    leave(filled / name)
    look(store, clock)
    (alarm,) = store.alarms
    assert str(filled / name) in alarm
    assert alarm.endswith("is lost when the site ends, and a restart begins an empty one.")
    assert fetch(store, name_of(1)) == chunk(1)
    store.close()


def test_a_store_that_is_moved_back_is_an_alarm_no_more(filled: Path, clock: Clock) -> None:
    store = opened(filled, clock=clock)
    filled.rename(filled.with_name("elsewhere"))
    look(store, clock)
    (alarm,) = store.alarms
    assert f"{filled / 'containers'} and {filled / 'index/data.mdb'} was" in alarm
    filled.with_name("elsewhere").rename(filled)
    look(store, clock)
    assert healthy(store)
    store.close()


def test_what_cannot_be_looked_at_is_no_other_file(filled: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk may be away for a moment."""
    store = opened(filled, clock=clock)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", failing(errno.EIO))
        look(store, clock)
    assert healthy(store)
    store.close()
