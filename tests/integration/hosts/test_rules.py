"""The files for hosts: nftables takes the rules, and they do what they say; sysctl has what `isthmus plan` asks for."""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.wan import namespaces
from bench.wan.namespaces import run as command
from proxy.plan.line import Line
from tests.integration.bed.ends import Array, connect, receipt, send

DEPLOY = Path(__file__).parents[3] / "deploy"
pytestmark = pytest.mark.root


@pytest.fixture
def namespace() -> Iterator[str]:
    if reason := namespaces.lacking():
        pytest.skip(reason)
    name = f"isthmus-rules-{os.getpid()}"
    namespaces.add(name)
    try:
        yield name
    finally:
        namespaces.remove(name)


@pytest.mark.parametrize("rules", sorted((DEPLOY / "nftables").glob("*.nft")), ids=lambda path: path.name)
def test_nftables_takes_them_again_and_again(namespace: str, rules: Path) -> None:
    if not shutil.which("nft"):
        pytest.skip("not installed: nft (Debian: package nftables)")
    nft = ["ip", "netns", "exec", namespace, "nft"]
    command([*nft, "-c", "-f", str(rules)])
    command([*nft, "-f", str(rules)])
    once = command([*nft, "list", "ruleset"])
    command([*nft, "-f", str(rules)])
    assert command([*nft, "list", "ruleset"]) == once
    assert "table" in once
