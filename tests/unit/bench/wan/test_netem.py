"""What the kernel would be asked for. Whether it obeys is for the integration tests, where there is netem."""

import pytest

from bench.wan import Line, Way
from bench.wan.netem import clearing, commands, netem, tbf, unable

WAY = Way.of(rate="45Mbit", delay="50ms", loss="1%")


def test_the_commands_of_one_way() -> None:
    assert [" ".join(command) for command in commands("x-east", WAY, 1500, False)] == [
        "tc -n x-east qdisc replace dev wan0 root handle 1: netem limit 1000000 delay 50.000ms loss random 1%",
        "tc -n x-east qdisc replace dev wan0 parent 1:1 handle 10: tbf rate 45420000bit burst 5625b limit 567750b",
    ]
    assert " ".join(clearing("x-east")) == "tc -n x-east qdisc delete dev wan0 root"


def test_losses_in_runs() -> None:
    """Gilbert's model: one in 10 losses ends a run; a run begins so often that 1 % are lost."""
    assert netem(WAY.changed(burst="10"), False)[-4:] == ["loss", "gemodel", "0.1010101%", "10%"]


def test_an_outage_loses_everything() -> None:
    assert netem(WAY, True)[-3:] == ["loss", "random", "100%"]
    assert netem(WAY.changed(burst="10"), True)[-3:] == ["loss", "random", "100%"]


def test_the_rest() -> None:
    words = " ".join(netem(WAY.changed(reorder="2%", duplicate="0.5%"), False))
    assert words.endswith("loss random 1% reorder 2% duplicate 0.5%")
    assert "reorder" not in netem(Way.of(reorder="2%"), False), "tc refuses it without a delay"
    assert tbf(Way.of(rate="8kbit"), 1500)[2:4] == ["burst", "3028b"], "a burst holds two packets at least"


@pytest.mark.parametrize("texts", [{"path_mtu": "1280B"}, {"jitter": "1ms"}])
def test_what_netem_cannot_do(texts: dict[str, str]) -> None:
    assert unable(Line.of().changed("east", **texts))
    assert not unable(Line.of(rate="1Gbit", loss="1%", burst="3", delay="10ms"))
