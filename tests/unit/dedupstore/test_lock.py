"""Who holds a store, as the lock says it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

APART = ("unshare", "--pid", "--fork")
TAKE = "import sys; from pathlib import Path; from dedupstore.lock import StoreLock; StoreLock(Path(sys.argv[1]))"


def test_a_container_counts_its_own_processes(path: Path) -> None:
    """The holder seemed to be whatever has that number outside."""
    if shutil.which("unshare") is None or subprocess.run((*APART, "true"), check=False, capture_output=True).returncode:
        pytest.skip("needs unshare (util-linux), and to be allowed a namespace of processes")
    path.mkdir(exist_ok=True)
    subprocess.run((*APART, sys.executable, "-c", TAKE, path), check=True)
    assert (path / "lock").read_text().startswith("process 1 in a container on ")
