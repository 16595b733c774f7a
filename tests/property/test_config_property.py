"""Whatever a file holds, it is a configuration or a list of mistakes; quantities survive being shown and read."""

import tomllib
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dedupstore.chunker import Chunker
from proxy.config.addresses import Address, parse_address, parse_listen
from proxy.config.loading import parse
from proxy.config.mistakes import ConfigError
from proxy.config.model import SiteConfig
from proxy.config.schema import schema
from proxy.config.units import parse_duration, parse_rate, parse_size, show_duration, show_rate, show_size
from proxy.net.environment import tunnel_settings
from tests.unit.config.contract import EAST, WEST

NOWHERE = Path("nowhere/site.toml")


def configuration_or_mistakes(content: bytes) -> SiteConfig | ConfigError:
    try:
        return parse(content, NOWHERE)
    except ConfigError as raised:
        error = raised
    assert error.mistakes
    assert all(line.isprintable() for line in str(error).splitlines())
    assert all(mistake.wrong and mistake.remedy for mistake in error.mistakes)
    return error


@given(st.binary())
def test_any_bytes(content: bytes) -> None:
    configuration_or_mistakes(content)


@given(st.text())
def test_any_text(content: str) -> None:
    configuration_or_mistakes(content.encode(errors="surrogatepass"))


@given(st.sampled_from([EAST, WEST]), st.data())
def test_the_contract_with_a_piece_exchanged(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    configuration_or_mistakes((text[:start] + data.draw(st.text(max_size=20)) + text[end:]).encode())


KEYS = sorted(
    {key for table in schema()["$defs"].values() for key in table["properties"]} | set(schema()["properties"])
)
TEXTS = st.sampled_from(
    [
        *("1GiB", "64MiB", "0B", "1B", "5s", "0s", "1h", "45Mbit", "disk", "memory", "none", "tcp", "info", "json"),
        *("east", "west", "East", "array", "", ".", "store", "127.0.0.1:1", "127.0.0.1:2", "0.0.0.0:1", "[::1]:1"),
        *("[::]:1", "host:1", "[fe80::1%lo]:1"),
    ]
) | st.text(max_size=10)
LEAVES = (
    TEXTS
    | st.booleans()
    | st.integers()
    | st.integers(min_value=1 << 63, max_value=1 << 20000)
    | st.floats()
    | st.datetimes().map(datetime.isoformat)
    | st.sampled_from([date(1979, 5, 27), time(7, 32), datetime(1979, 5, 27)])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner, max_size=6),
    max_leaves=40,
)
TREES = st.dictionaries(st.sampled_from(list(schema()["properties"])), VALUES, max_size=11)


def toml(value: Any) -> str:
    """The value as an inline TOML value."""
    match value:
        case bool():
            return str(value).lower()
        case int():
            return hex(value) if value >= 0 else str(value)
        case float():
            return repr(value)
        case str():
            return '"' + "".join(f"\\U{ord(character):08x}" for character in value) + '"'
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{toml(key)} = {toml(inner)}' for key, inner in value.items())}}}"
        case _:
            return str(value.isoformat())


def document(tree: dict[str, Any]) -> str:
    return "\n".join(f"{key} = {toml(value)}" for key, value in tree.items())


@given(TREES)
def test_any_tree(tree: dict[str, Any]) -> None:
    configuration_or_mistakes(document(tree).encode())


@st.composite
def plausible_trees(draw: st.DrawFn) -> dict[str, Any]:
    """Trees of the right shape: known sections with known keys, values of all kinds. Some are right."""
    described = schema()
    tree: dict[str, Any] = {}
    for section, value in described["properties"].items():
        table = described["$defs"][value.get("items", value)["$ref"].rpartition("/")[2]]
        needed = {key: LEAVES | st.just(["east"]) | st.just(["west"]) for key in table.get("required", ())}
        optional = {key: LEAVES for key in table["properties"] if key not in needed}
        tables = st.fixed_dictionaries(needed, optional=optional)
        tree[section] = draw(st.lists(tables, max_size=3) if "items" in value else tables)
    return tree


@given(plausible_trees())
def test_any_plausible_tree(tree: dict[str, Any]) -> None:
    configuration_or_mistakes(document(tree).encode())


@given(st.sampled_from([EAST, WEST]), st.sampled_from(KEYS), VALUES)
def test_a_value_that_is_accepted_stays_what_it_was(text: str, key: str, value: Any) -> None:
    """A configuration is the same after it was written down from its own tree."""
    tree = tomllib.loads(text) | {key: value}
    found = configuration_or_mistakes(document(tree).encode())
    if isinstance(found, SiteConfig):
        assert found == configuration_or_mistakes(document(tomllib.loads(document(tree))).encode())


SIZES = st.sampled_from([1, 2, 4, 8, 9, 16, 31, 32, 64, 256]).map(lambda kib: f'"{kib}KiB"')
MEMORY = st.sampled_from([1, 2, 16, 17, 64]).map(lambda mib: f'"{mib}MiB"')


@given(SIZES, SIZES, SIZES, MEMORY, MEMORY, st.integers(0, 70))
def test_what_is_accepted_can_be_served(
    minimum: str, average: str, maximum: str, memory: str, unacked: str, peers: int
) -> None:
    text = EAST.replace("[tunnel]", f'[tunnel]\nwindow = "1MiB"\nmemory = {memory}\nunacked = {unacked}', 1)
    text += f"[chunking]\nminimum = {minimum}\naverage = {average}\nmaximum = {maximum}\n"
    for n in range(peers):
        text += f'[[peer]]\nname = "p{n}"\naddress = "198.18.1.{n}:1"\ncertificate = "{n}.crt"\n'
    config = configuration_or_mistakes(text.encode())
    if isinstance(config, SiteConfig):
        sizes = config.chunking
        assert Chunker(sizes.minimum, sizes.average, sizes.maximum).average == sizes.average
        assert tunnel_settings(config).memory >= 1 << 20


@given(st.integers(0, 1 << 60))
def test_sizes_round_trip(size: int) -> None:
    assert parse_size(show_size(size)) == size


@given(st.integers(0, 10**15))
def test_rates_round_trip(rate: int) -> None:
    assert parse_rate(show_rate(rate)) == rate


@given(st.integers(0, 366 * 86400 * 1000))
def test_durations_round_trip(milliseconds: int) -> None:
    assert parse_duration(show_duration(milliseconds / 1000)) == milliseconds / 1000


@given(st.ip_addresses(), st.integers(1, 65535))
def test_addresses_round_trip(ip: Any, port: int) -> None:
    address = Address(str(ip), port)
    assert parse_address(str(address)) == parse_listen(str(address)) == address
    assert address.ip == ip


@given(st.from_regex(r"[a-z0-9_]([a-z0-9-]{0,10})(\.[a-z0-9]{1,5}){0,3}\.[a-z]{2,5}:[1-9][0-9]{0,3}", fullmatch=True))
def test_host_names_round_trip(text: str) -> None:
    assert str(parse_address(text)) == text
