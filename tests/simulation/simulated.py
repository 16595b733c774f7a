"""A simulation: two sites in a world that is unkind to them for a while, until everything has ended."""

import os
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from proxy.protocol.tunnel import Tunnel
from tests.simulation.sites import Site
from tests.simulation.world import World

GROUPS = 10
TROUBLE = 20.0
"""Seconds, of the world's clock, of faults."""
PEACE = 120.0
"""Seconds in which everything must have ended afterwards."""
GREETED = 5.0
"""Seconds in which a lane that was just dialled has come up, and both sides have said how they are."""
AnySite = TypeVar("AnySite", bound=Site)


def seeds() -> list[list[int]]:
    """ISTHMUS_SEEDS is how many (default 1500), or FIRST:LAST; in groups, so that workers share them."""
    first, _, last = os.environ.get("ISTHMUS_SEEDS", "1500").rpartition(":")
    numbers = range(int(first or 0), int(last) + bool(first))
    return [list(numbers[group::GROUPS]) for group in range(GROUPS)]


def for_seeds(group: int, simulation: Callable[[int], object]) -> None:
    """Run it once a seed of the group; who fails says how that is repeated."""
    for seed in seeds()[group]:
        try:
            simulation(seed)
        except BaseException as error:
            error.add_note(f"seed {seed}: repeat with ISTHMUS_SEEDS={seed}:{seed}")
            raise


def simulate(kind: type[AnySite], seed: int) -> tuple[AnySite, AnySite]:
    """Two sites of that kind, when everything has ended."""
    world = World(seed)
    left, right = kind(world, "left", "right"), kind(world, "right", "left")
    left.other, right.other = right, left
    crashes = world.chance(0.3)
    for site in (left, right):
        plan_lanes(world, site)
        for _ in range(world.rng.choice([1, 4, 15])):
            world.after(world.rng.uniform(0.5, TROUBLE), site.something())
        if crashes:
            world.after(world.rng.uniform(1, TROUBLE), site.crash)
        if world.chance(0.1):
            world.after(world.rng.uniform(1, TROUBLE), site.give_up)
        if world.chance(0.15):
            world.after(world.rng.uniform(1, TROUBLE), site.drain)
    if world.chance(0.8):
        plan_faults(world, left)
    world.run(world.now + TROUBLE)
    world.calm = True
    world.run(world.now + PEACE, partial(is_quiet, left, right))
    check_ended(left, right)
    world.run(world.now + GREETED)
    check_drains(left, right)
    return left, right


def plan_lanes(world: World, site: Site) -> None:
    """The left site keeps some lanes up, the right one perhaps as well, until there is peace: then one is enough."""
    wanted = world.rng.choice([1, 1, 2, 3]) if site.name == "left" else world.rng.choice([0, 0, 1, 2])

    def keep() -> None:
        if len(site.ends) < (wanted if not world.calm else bool(wanted)):
            site.dial()
        world.after(world.rng.uniform(0.2, 1.5), keep)

    keep()


def plan_faults(world: World, site: Site) -> None:
    """Now and then a connection breaks, or swallows one direction or both; rarely all of them, for long."""
    often = world.rng.choice([0.3, 2.0, 6.0])

    def strike() -> None:
        if world.calm:
            return
        everything = world.chance(0.1)
        for end in [end for end in site.ends.values() if everything or world.chance(0.5)]:
            kind = world.rng.choice(["break", "black out", "black in", "black"])
            if kind == "break":
                end.abort()
            end.pipe.black |= kind in ("black out", "black")
            end.other.pipe.black |= kind in ("black in", "black")
        world.after(world.rng.expovariate(1 / often), strike)

    world.after(world.rng.expovariate(1 / often), strike)


def is_quiet(left: Site, right: Site) -> bool:
    """All arrays have ended, and neither tunnel holds anything."""
    for site in (left, right):
        figures = site.tunnel.figures
        if figures.streams or figures.unacked_bytes or any(not speaker.over for speaker in site.speakers.values()):
            return False
    return True


def check_ended(left: Site, right: Site) -> None:
    for site in (left, right):
        assert site.tunnel.figures.streams == 0
        check_accounts(site.tunnel)
        for talk in site.talks.values():
            for side in (0, 1):
                if talk.finished[side]:
                    assert talk.delivered[side] == talk.sent[1 - side]
                    assert talk.delivered[1 - side] == talk.sent[side] or talk.reset[1 - side]
            opened = talk.delivered[1] or talk.sent[1] or talk.finished[1] or talk.reset[1]
            assert talk.finished[0] or talk.reset[0]
            assert talk.finished[1] or talk.reset[1] or not opened


def check_drains(left: Site, right: Site) -> None:
    """Whoever has a lane knows whether the other side drains, whichever lanes and states have said so, or were lost."""
    for site, other in ((left, right), (right, left)):
        assert bool(other.tunnel.peer_drains) == site.drains or not other.ends


def check_accounts(tunnel: Tunnel) -> None:
    """Streams that are no more leave nothing in any account: what they did would be missing for ever."""
    state = tunnel._state
    sent, kept, budget, more = state.ledger, state._kept, state._budget, state._foretelling.more
    assert (sent.held, sent.uncredited, sent.waiting) == (0, 0, 0)
    assert (kept.total, kept.uncredited) == (0, 0)
    assert state.trust.under_way == 0
    assert (budget.reserved, budget.grown, budget.opening) == (more, more, more), "what was foretold, and no more"
    assert (budget.growers, budget.streams) == (0, 0)
