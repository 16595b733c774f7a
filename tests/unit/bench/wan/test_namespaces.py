"""What `ip` and the kernel refuse is said with what to do about it."""

import pytest

from bench.wan import WanFailure, namespaces


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["isthmus-no-such-command"], "`isthmus-no-such-command` failed: .*; install it, and run this as root"),
        (["false"], "`false` failed: 1; type it as root to see what is in its way"),
    ],
)
def test_a_command_that_fails(command: list[str], words: str) -> None:
    with pytest.raises(WanFailure, match=words):
        namespaces.run(command)


def test_a_namespace_that_is_not_there() -> None:
    wrong = r"there is no network namespace .*; `isthmus wan up` makes a line's"
    with pytest.raises(WanFailure, match=wrong), namespaces.inside("isthmus-nowhere"):
        pass
