"""A hub with two spokes: stores and outages stay apart; what came from a spoke goes back to it for little."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Barrier

import pytest

from bench.sites import Address, Site, free_port
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, connect, how_it_ends, receipt, send, torn, whole
from tests.integration.bed.sites import Bed, Forward, drain, run
from tests.patience import PATIENCE

SIZE = 24 << 20
WRITE = 256 << 10
SPOKES = ("alpha", "beta")
WARM, COLD = 0.01, 0.95
RUNS = 0.001
"""Of what goes as runs of chunks; one by one they take half as much again and more."""


@dataclass(frozen=True)
class Wheel:
    """The sites, and where each array finds the ones at the other sites."""

    hub: Site
    spokes: dict[str, Site]
    outward: dict[str, Address]
    inward: dict[str, Address]
    arrays: dict[str, Array]

    def wire_to(self, spoke: str) -> int:
        """Bytes that the hub has sent to the spoke."""
        peers = {peer["name"]: peer for peer in self.hub.status()["peers"]}
        return int(peers[spoke]["bytes"]["wire"])

    def cost(self, spoke: str, content: bytes) -> float:
        """Replicate from the hub to a spoke: bytes on the wire for each plain one."""
        before = self.wire_to(spoke)
        carry(content, self.outward[spoke])
        return (self.wire_to(spoke) - before) / len(content)


def test_a_chunk_of_one_spoke_is_not_believed_to_be_at_the_other(bed: Bed) -> None:
    content = volume("content", SIZE)
    with turning(bed) as wheel:
        assert wheel.cost("alpha", content) > COLD
        assert wheel.cost("alpha", content) < WARM
        assert wheel.cost("beta", content) > COLD
        assert wheel.cost("beta", content) < WARM
        assert wheel.cost("alpha", content) < WARM
        assert all(spoke.status()["bytes"]["misses"] == 0 for spoke in wheel.spokes.values())


def test_what_came_from_a_spoke_goes_back_as_references(bed: Bed) -> None:
    """Fail-back is warm, though nothing ever went that way before; for the other spoke it is news."""
    content = volume("content", SIZE)
    with turning(bed) as wheel:
        carry(content, wheel.inward["alpha"])
        assert wheel.cost("alpha", content) < WARM
        assert wheel.cost("beta", content) > COLD
        before = wheel.spokes["alpha"].status()["bytes"]["wire"]
        carry(content, wheel.inward["alpha"])
        assert wheel.spokes["alpha"].status()["bytes"]["wire"] - before < WARM * SIZE


def test_all_ways_at_once(bed: Bed) -> None:
    with turning(bed) as wheel, ThreadPoolExecutor() as threads:
        ways = [*wheel.outward.values(), *wheel.inward.values()]
        done = [threads.submit(carry, volume(f"way {number}", SIZE // 2), way) for number, way in enumerate(ways)]
        for each in done:
            each.result()


def test_what_spokes_have_sent_at_once_lies_apart_in_the_hub_s_store(bed: Bed) -> None:
    """Their streams have the same numbers. In containers of both, no run of what one has sent would be found."""
    contents = {name: volume(f"of {name}", SIZE) for name in SPOKES}
    together = Barrier(len(SPOKES), timeout=PATIENCE)
    with turning(bed) as wheel, ThreadPoolExecutor() as threads:

        def keep_step(number: int) -> None:
            together.wait()

        def at_once(name: str) -> None:
            sending = send(cut(contents[name], WRITE), wheel.inward[name], keep_step)
            whole(receipt(contents[name]), sending)

        list(threads.map(at_once, SPOKES))
        for name, spoke in wheel.spokes.items():
            before = spoke.status()["bytes"]["wire"]
            carry(contents[name], wheel.inward[name])
            assert spoke.status()["bytes"]["wire"] - before < RUNS * SIZE
        assert wheel.hub.status()["bytes"]["misses"] == 0


@pytest.mark.parametrize("violently", [False, True], ids=["stopped", "killed"])
def test_a_spoke_that_goes_disturbs_nobody_else(bed: Bed, violently: bool) -> None:
    """It goes with a stream open, in the middle of the other spoke's transfers, and comes back."""
    content = volume("content", SIZE)
    with turning(bed, {"drain": "0s"}) as wheel, ThreadPoolExecutor() as threads:
        alpha = wheel.spokes["alpha"]

        def strike(number: int) -> None:
            if number == SIZE // WRITE // 2:
                alpha.kill() if violently else alpha.stop()

        with connect(wheel.outward["alpha"]) as victim:
            victim.sendall(content[:WRITE])
            wheel.arrays["alpha"].arrival()
            back = threads.submit(carry, content, wheel.inward["beta"])
            sending = send(cut(content, WRITE), wheel.outward["beta"], strike)
            whole(receipt(content), sending)
            back.result()
            peers = {peer["name"]: peer for peer in wheel.hub.status()["peers"]}
            assert (peers["beta"]["state"], peers["beta"]["outages"]) == ("up", 0)
            assert peers["alpha"]["state"] != "up"
            alpha.start()
            wheel.hub.wait_up()
            torn(b"", how_it_ends(victim))
        carry(content, wheel.outward["alpha"])


@contextmanager
def turning(bed: Bed, tunnel: dict[str, str] | None = None) -> Iterator[Wheel]:
    """A hub that waits for two spokes, with an array at each of the three sites."""
    door = ("127.0.0.1", free_port())
    outward = {name: Forward(f"array-of-{name}", name) for name in SPOKES}
    inward = {name: Forward("home", "hub") for name in SPOKES}
    with ExitStack() as stack:
        arrays = {name: stack.enter_context(Array()) for name in ("hub", *SPOKES)}
        hub = bed.site(
            "hub",
            dict.fromkeys(SPOKES),
            forwards=list(outward.values()),
            exports={"home": (arrays["hub"].address, SPOKES)},
            tunnel={**(tunnel or {}), "listen": f"{door[0]}:{door[1]}"},
            store={"size": "128MiB"},
        )
        spokes = {
            name: bed.site(
                name,
                {"hub": door},
                forwards=[inward[name]],
                exports={f"array-of-{name}": (arrays[name].address, ["hub"])},
                tunnel=tunnel,
                store={"size": "128MiB"},
            )
            for name in SPOKES
        }
        run(hub, *spokes.values())
        yield Wheel(hub, spokes, addresses(outward), addresses(inward), arrays)
        drain(hub, *spokes.values())


def addresses(forwards: dict[str, Forward]) -> dict[str, Address]:
    return {name: forward.address for name, forward in forwards.items()}


def carry(content: bytes, way: Address) -> None:
    """Replicate, and see that it has arrived."""
    sending = send(cut(content, WRITE), way)
    whole(receipt(content), sending)
