"""What lies in a store's directory, and may be somebody else's."""

import os
from pathlib import Path

from tests.unit.dedupstore.stores import opened
from tests.unit.dedupstore.test_opening import set_aside


def test_the_newest_copy_survives_a_clock_that_was_set_back(filled: Path) -> None:
    """The others seemed to be younger, so it was deleted as soon as it had been set aside."""
    for count in range(4):
        for name in set_aside(filled):
            os.utime(filled / name, (4e9, 4e9 + count))
        (filled / "containers").write_bytes(b"foreign %d" % count * 100)
        opened(filled).close()
    kept = {(filled / name / "containers").read_bytes()[:9] for name in set_aside(filled)}
    assert len(kept) == 3
    assert b"foreign 3" in kept
