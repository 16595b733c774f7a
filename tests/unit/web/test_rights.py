"""Tokens: what was read from files, and read anew."""

import asyncio
import threading
from pathlib import Path

import pytest

from proxy.errors import OperatorError
from proxy.web.rights import Rights
from proxy.web.settings import Settings
from tests.patience import PATIENCE

OLD, NEW = "the-old-token-of-sixteen", "the-new-token-of-sixteen"


def test_a_disk_that_never_answers_leaves_the_old_tokens_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, answers = tmp_path / "token", threading.Event()
    token.write_text(OLD)
    token.chmod(0o600)
    rights = Rights(Settings(host="127.0.0.1", token=token))
    token.write_text(NEW)
    with monkeypatch.context() as patch:
        patch.setattr("proxy.web.rights.DISK_SECONDS", 0.01)
        patch.setattr("proxy.web.rights._read", lambda settings: answers.wait(PATIENCE))
        with pytest.raises(
            OperatorError,
            match=r"certificates and tokens cannot be read: their disk has not answered for 30 s; see to it",
        ):
            asyncio.run(rights.reload())
    assert rights.shown(f"Bearer {OLD}", None)
    answers.set()
    asyncio.run(rights.reload())
    assert rights.shown(f"Bearer {NEW}", None)
    assert not rights.shown(f"Bearer {OLD}", None)
