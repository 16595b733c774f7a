"""Files that are right: the contract, the defaults, relative paths; and that configurations cannot be changed."""

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pydantic
import pytest

from proxy.config.addresses import Address
from proxy.config.checks import CHECKS
from proxy.config.loading import load, parse
from proxy.config.mistakes import ConfigError
from proxy.identity import generate
from tests.unit.config.contract import EAST, WEST

ROOT = Path(__file__).parents[3]
GiB = 1 << 30


def test_the_contract_of_east(pair: Path) -> None:
    east = load(pair / "east.toml")
    assert east.site.name == "east"
    assert (east.identity.certificate, east.identity.key) == (pair / "east.crt", pair / "east.key")
    assert east.tunnel.listen == Address("198.18.0.1", 4500)
    assert (east.store.mode, east.store.size, east.store.path) == ("memory", 2 * GiB, None)
    assert east.status.listen == Address("127.0.0.1", 8900)
    (peer,) = east.peers
    assert (peer.name, peer.address, peer.certificate) == ("west", Address("198.18.0.2", 4500), pair / "west.crt")
    (forward,) = east.forwards
    assert (forward.name, forward.listen) == ("replication", Address("127.0.0.1", 3260))
    assert (forward.peer, forward.export, forward.protocol) == ("west", "array", "auto")
    assert east.exports == ()


def test_the_contract_of_west(pair: Path) -> None:
    west = load(pair / "west.toml")
    assert (west.store.mode, west.store.size, west.store.path) == ("disk", 10 * GiB, pair / "store")
    (peer,) = west.peers
    assert (peer.name, peer.address) == ("east", None)
    (export,) = west.exports
    assert (export.name, export.address, export.peers) == ("array", Address("10.1.0.5", 3260), ("east",))
    assert west.forwards == ()


def test_the_defaults(pair: Path) -> None:
    (pair / "east.toml").write_text(EAST.replace('mode = "memory"\nsize = "2GiB"', ""))
    east = load(pair / "east.toml")
    tunnel = east.tunnel
    assert (tunnel.keepalive, tunnel.dead_after, tunnel.grace) == (5.0, 20.0, 120.0)
    assert (tunnel.window, tunnel.memory, tunnel.unacked) == (96 << 20, 192 << 20, 64 << 20)
    assert (tunnel.streams, tunnel.connect_timeout, tunnel.drain, tunnel.reconnect_max) == (1024, 10.0, 30.0, 15.0)
    assert (east.store.mode, east.store.size, east.store.cache) == ("memory", GiB, 160 << 20)
    assert (east.chunking.minimum, east.chunking.average, east.chunking.maximum) == (4096, 16384, 65536)
    assert (east.compression.codec, east.compression.level) == ("zstd", "auto")
    assert (east.log.level, east.log.format) == ("info", "auto")


def test_the_first_example_says_how_one_host_gets_both_addresses() -> None:
    """Otherwise neither of the two starts there: their tunnels listen on addresses that no host has by itself."""
    examples = [(ROOT / "deploy" / "examples" / f"{name}.toml").read_text() for name in ("east", "west")]
    for example in examples:
        listen = tomllib.loads(example)["tunnel"]["listen"].rpartition(":")[0]
        assert f"ip address add {listen}/32 dev lo" in examples[0]


@pytest.mark.parametrize(("name", "contract"), [("east", EAST), ("west", WEST)])
def test_the_examples_are_the_contract(pair: Path, name: str, contract: str) -> None:
    example = (ROOT / "deploy" / "examples" / f"{name}.toml").read_text()
    assert tomllib.loads(example) == tomllib.loads(contract)
    (pair / f"{name}.toml").write_text(example)
    assert load(pair / f"{name}.toml").site.name == name


def test_paths_are_relative_to_the_file(pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pair.parent)
    west = load(Path(pair.name) / "west.toml")
    assert west.store.path == Path(pair.name) / "store"
    assert west.source == Path(pair.name) / "west.toml"


def test_absolute_paths_stay(pair: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "east.toml"
    elsewhere.write_text(EAST.replace('"east.', f'"{pair}/east.').replace('"west.crt', f'"{pair}/west.crt'))
    assert load(elsewhere).identity.certificate == pair / "east.crt"


def test_ipv6_everywhere(pair: Path) -> None:
    text = EAST.replace("198.18.0.1", "[2001:db8::1]").replace("198.18.0.2", "[2001:DB8:0::2]")
    (pair / "east.toml").write_text(text.replace("127.0.0.1", "[::1]"))
    east = load(pair / "east.toml")
    assert str(east.tunnel.listen) == "[2001:db8::1]:4500"
    assert east.peers[0].address == Address("2001:db8::2", 4500)
    assert str(east.status.listen) == "[::1]:8900"


def test_a_configuration_is_frozen(pair: Path) -> None:
    east = load(pair / "east.toml")
    with pytest.raises(pydantic.ValidationError):
        east.site.name = "other"
    assert hash(east) == hash(load(pair / "east.toml"))
    assert east == load(pair / "east.toml")


def test_files_can_be_left_alone(pair: Path) -> None:
    """Somebody who may not read the key can still ask the site for its status."""
    for name in ("east.key", "east.crt", "west.crt"):
        (pair / name).unlink()
    assert load(pair / "east.toml", files=False).site.name == "east"
    with pytest.raises(ConfigError):
        load(pair / "east.toml")


def test_the_clock_is_an_argument(pair: Path) -> None:
    file = pair / "east.toml"
    with pytest.raises(ConfigError, match="has expired"):
        parse(file.read_bytes(), file, now=datetime.now(UTC) + timedelta(days=4000))


def test_every_check_says_what_it_is_for() -> None:
    assert all(check.__doc__ for check in CHECKS)


HUB = """\
[site]
name = "hub"
[identity]
certificate = "hub.crt"
key = "hub.key"
[tunnel]
listen = "[::]:4500"
[[peer]]
name = "north"
certificate = "north.crt"
[[peer]]
name = "south"
address = "south.example:4500"
certificate = "south.crt"
[[forward]]
name = "first"
listen = "127.0.0.1:3260"
peer = "north"
export = "array"
[[forward]]
name = "second"
listen = "127.0.0.1:3261"
peer = "north"
export = "other"
[[export]]
name = "array"
address = "array.example:3260"
peers = ["north", "south"]
"""


def test_a_hub_with_two_spokes_and_both_directions(pair: Path) -> None:
    for site in ("hub", "north", "south"):
        generate(site, pair)
    (pair / "hub.toml").write_text(HUB)
    hub = load(pair / "hub.toml")
    assert [(peer.name, peer.address) for peer in hub.peers] == [
        ("north", None),
        ("south", Address("south.example", 4500)),
    ]
    assert [forward.export for forward in hub.forwards] == ["array", "other"]
    assert hub.exports[0].peers == ("north", "south")
