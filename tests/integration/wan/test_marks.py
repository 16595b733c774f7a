"""DSCP marks: a forward that has one gets a lane of its own, whose packets carry it both ways."""

import subprocess
from functools import partial

import pytest

from bench.sites import Site
from bench.wan import Wan
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import receipt, send, whole
from tests.integration.bed.lines import array_at, line_or_skip, pair_over
from tests.integration.bed.sites import Bed, lanes_of

pytestmark = pytest.mark.root

AF21 = 18
content = partial(volume, "marked", 4 << 20)


def test_a_marked_forward(bed: Bed) -> None:
    with line_or_skip(rate="45Mbit", delay="5ms") as wan, array_at(wan, "west") as array:
        pair = pair_over(bed, wan, array.address)
        text = pair.east.config.read_text()
        pair.east.config.write_text(text.replace("[[forward]]", '[[forward]]\ndscp = "af21"'))
        with pair.running():
            pair.east.wait_for(lambda: AF21 in marks(pair.east), "has no marked lane")
            with wan.inside("east"):
                sending = send(cut(content(), 64 << 10), pair.entrance)
            whole(receipt(content()), sending)
            assert AF21 in marks(pair.west)
            for end in ("east", "west"):
                assert f"tos:{AF21 << 2:#x}" in sockets(wan, end)


def marks(site: Site) -> set[int]:
    return {lane["dscp"] for lane in lanes_of(site)}


def sockets(wan: Wan, end: str) -> str:
    """Connections over the line, with the mark of their packets."""
    command = [*wan.command(end), "ss", "--tos", "-Htni", "state", "established", "dst", "198.18.0.0/24"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
