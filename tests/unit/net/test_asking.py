"""What a peer may ask for: the exports that name it, and of those with a range the addresses in it."""

import pytest

from proxy.config.addresses import Address
from proxy.config.ranges import parse_range
from proxy.net.asking import NotExported, asked, granted
from tests.unit.config.contract import WEST, site_of

SITE = site_of(WEST + 'range = "10.1.0.0/24"\n')
EXPORTS = {export.name: export for export in SITE.exports}
PLAIN = {name: export.model_copy(update={"range": None}) for name, export in EXPORTS.items()}


def test_what_is_granted() -> None:
    (export,) = EXPORTS.values()
    assert granted(EXPORTS, "east", asked("array", None)) == (export, export.address)
    portal = Address("10.1.0.77", 3260)
    assert granted(EXPORTS, "east", asked("array", portal)) == (export, portal)


@pytest.mark.parametrize(
    ("peer", "asked_for", "why"),
    [
        ("east", "tape", "'tape' is not exported"),
        ("east", "tape@10.1.0.77:3260", "is not exported"),
        ("north", "array", "'array' is not exported to north"),
        ("north", "array@10.1.0.77:3260", "is not exported to north"),
        ("east", "array@10.1.1.77:3260", "10.1.1.77:3260 is not in a range of export array"),
        ("east", "array@10.1.0.77:22", "is not in a range"),
        ("east", "array@host.example:3260", "is not in a range"),
        ("east", "array@", "'' is not an address"),
        ("east", "array@10.1.0.77", "'10.1.0.77' is not an address"),
        ("east", "array@10.1.0.77:3260@10.1.0.78:3260", "is not an address"),
    ],
)
def test_what_is_refused(peer: str, asked_for: str, why: str) -> None:
    with pytest.raises(NotExported, match=why.replace(".", r"\.")):
        granted(EXPORTS, peer, asked_for)


def test_an_interface_of_this_host_is_not_the_peers_to_choose() -> None:
    wide = {name: export.model_copy(update={"range": parse_range("2001:db8::/64")}) for name, export in EXPORTS.items()}
    assert granted(wide, "east", "array@[2001:db8::7]:3260")[1] == Address("2001:db8::7", 3260)
    with pytest.raises(NotExported, match="not in a range"):
        granted(wide, "east", "array@[2001:db8::7%lo]:3260")


def test_an_export_without_a_range_is_one_address() -> None:
    with pytest.raises(NotExported, match="not in a range"):
        granted(PLAIN, "east", "array@10.1.0.5:3260")


def test_a_peer_is_not_told_which_exports_others_have() -> None:
    heard = []
    for name in ("array", "none"):
        with pytest.raises(NotExported) as refused:
            granted(EXPORTS, "north", name)
        heard.append(refused.value.told.replace(name, "..."))
    assert heard == ["'...' is not exported to north"] * 2
