"""What is to be typed to have another user run a command."""

import os

import pytest

from proxy.cli.users import as_user


@pytest.mark.parametrize(
    ("user", "owner", "typed"),
    [
        (0, "isthmus", "run this as isthmus: runuser -u isthmus -- isthmus serve a.toml"),
        (0, "10001", "run this as user 10001: isthmus serve a.toml"),
        (1000, "isthmus", "run this as isthmus, which root can: runuser -u isthmus -- isthmus serve a.toml"),
        (1000, "root", "run this as root: isthmus serve a.toml"),
    ],
)
def test_who_runs_it(monkeypatch: pytest.MonkeyPatch, user: int, owner: str, typed: str) -> None:
    """Whoever is not root was told to type runuser, which refuses that."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert as_user(owner, "isthmus", "serve", "a.toml") == typed
