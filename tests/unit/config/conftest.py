"""A directory with the two sites of the contract: keys, certificates, and both files as the issue gives them."""

from pathlib import Path

import pytest

from proxy.identity import generate
from tests.unit.config.contract import EAST, WEST


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    for site, text in (("east", EAST), ("west", WEST)):
        generate(site, tmp_path)
        (tmp_path / f"{site}.toml").write_text(text)
    return tmp_path
