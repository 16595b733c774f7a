"""What can be typed after `isthmus wan`; see `proxy.cli.commands`."""

import functools
from collections.abc import Callable
from typing import Any

import click

from proxy.cli.parts import examples, perform
from proxy.cli.parts import json_option as _json

_prefix: Callable[[Any], Any] = click.option(
    "--prefix",
    default="isthmus-wan",
    show_default=True,
    metavar="NAME",
    help="Prefix of the two namespaces: NAME-east, NAME-west.",
)
_toward: Callable[[Any], Any] = click.option(
    "--toward",
    type=click.Choice(["west", "east", "both"]),
    default="both",
    show_default=True,
    help="Which direction of the line.",
)
_backend: Callable[[Any], Any] = click.option(
    "--backend",
    type=click.Choice(["auto", "netem", "tun"]),
    default="auto",
    show_default=True,
    help="auto: the kernel's netem if there is one, otherwise processes over TUN devices.",
)
_WAY = {
    "rate": ("RATE", 'Rate of IP packets, such as "45Mbit".'),
    "delay": ("TIME", 'Delay one way, such as "50ms".'),
    "jitter": ("TIME", "Up to so much more delay; the order stays."),
    "loss": ("SHARE", 'Share of the packets that are lost, such as "1%".'),
    "burst": ("PACKETS", "Mean length of a run of losses; 1: independent."),
    "reorder": ("SHARE", "Share of the packets that overtake others."),
    "duplicate": ("SHARE", "Share of the packets that come twice."),
    "queue": ("SIZE", "How much may wait in the queue; by default as much as the line holds."),
    "path_mtu": ("BYTES", "Longer packets vanish."),
}


def _way(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: options for one way of the line. The command gets those that were typed as `texts`, by name."""

    @functools.wraps(command)
    def with_texts(**given: Any) -> Any:
        texts = {name: given.pop(name) for name in _WAY}
        return command(**given, texts={name: text for name, text in texts.items() if text is not None})

    decorated: Callable[..., Any] = with_texts
    for name, (kind, meaning) in reversed(_WAY.items()):
        decorated = click.option(f"--{name.replace('_', '-')}", metavar=kind, help=meaning)(decorated)
    return decorated


@click.group(
    epilog=examples(
        "isthmus wan up --rate 45Mbit --delay 50ms --loss 1%",
        "isthmus wan outage on",
        "isthmus wan stats",
        "isthmus wan down",
    )
)
def wan() -> None:
    """Emulate a WAN on this machine.

    A line is two network namespaces, east and west, joined by a link with rate, delay, loss and so on, each way its
    own. It stays up until `down`. Needs root.
    """


@wan.command(
    epilog=examples(
        "isthmus wan up --rate 45Mbit --delay 50ms --loss 1%",
        "isthmus wan up --prefix second --rate 1Gbit --delay 10ms --mtu 9000",
    )
)
@_prefix
@click.option("--mtu", type=int, default=1500, show_default=True, metavar="BYTES", help="MTU of the interfaces.")
@_backend
@_way
def up(prefix: str, mtu: int, backend: str, texts: dict[str, str]) -> int | None:
    """Make a line, both ways alike.

    Prints the addresses of its ends and how to run something there. `isthmus wan set` makes its ways different.
    """
    return perform("wan", "up", prefix, backend, mtu, texts)


@wan.command(epilog=examples("isthmus wan down", "isthmus wan down --prefix second"))
@_prefix
def down(prefix: str) -> int | None:
    """Remove a line, also what a crash has left."""
    return perform("wan", "down", prefix)


@wan.command(
    "set",
    epilog=examples("isthmus wan set --loss 3%", "isthmus wan set --toward east --rate 2Mbit --queue 64KiB"),
)
@_prefix
@_toward
@_way
def change(prefix: str, toward: str, texts: dict[str, str]) -> int | None:
    """Change a line that is up."""
    return perform("wan", "change", prefix, toward, texts)


@wan.command(epilog=examples("isthmus wan outage on", "isthmus wan outage off", "isthmus wan outage on --toward west"))
@click.argument("switch", type=click.Choice(["on", "off"]))
@_prefix
@_toward
def outage(switch: str, prefix: str, toward: str) -> int | None:
    """Let all packets vanish, or end that."""
    return perform("wan", "outage", prefix, toward, switch == "on")


@wan.command("stats", epilog=examples("isthmus wan stats", "isthmus wan stats --json"))
@_prefix
@_json
def line_stats(prefix: str, as_json: bool) -> int | None:
    """Show what the line has done with packets."""
    return perform("wan", "stats", prefix, as_json)


@wan.command("test", epilog=examples("isthmus wan test", "isthmus wan test --backend tun --json"))
@_backend
@_json
def line_test(backend: str, as_json: bool) -> int | None:
    """Measure how true lines are on this machine.

    Loss, runs of losses, delay and rate of lines beside their settings, then up to which rate a line keeps up. Takes
    two minutes of a machine that has nothing else to do; the exit code is 1 if a line is not what it should be.
    """
    return perform("wan", "test", backend, as_json)
