"""An export that leads back to a forward which listens on all addresses of this host."""

from pathlib import Path

import pytest

from proxy.config.model import SiteConfig
from proxy.errors import ExitCode, OperatorError
from proxy.net.listeners import Listeners
from proxy.net.loops import loops
from tests.unit.config.contract import EAST, site_of


def both_ways(listen: str, address: str, port: int = 3260) -> SiteConfig:
    """East's, with a forward and an export of the same port."""
    own = f'[[export]]\nname = "own"\naddress = "{address}:{port}"\npeers = ["west"]\n'
    return site_of(EAST.replace("127.0.0.1:3260", f"{listen}:{port}") + own)


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host has 198.18.0.7 and fd00::7 and no other address."""

    class Bound:
        def close(self) -> None:
            pass

    def reserve(address: object) -> Bound:
        if str(address) not in ("198.18.0.7:0", "[fd00::7]:0"):
            raise OSError("not here")
        return Bound()

    monkeypatch.setattr("proxy.net.loops.reserve", reserve)


@pytest.mark.parametrize(
    ("listen", "address", "found"),
    [
        ("0.0.0.0", "198.18.0.7", True),
        ("0.0.0.0", "[::ffff:198.18.0.7]", True),
        ("[::]", "[fd00::7]", True),
        ("0.0.0.0", "198.18.0.8", False),
        ("[::]", "198.18.0.7", False),
        ("0.0.0.0", "[fd00::7]", False),
        ("127.0.0.1", "198.18.0.7", False),
        ("0.0.0.0", "array.example", False),
    ],
)
def test_which_exports_lead_back(listen: str, address: str, found: bool) -> None:
    named = [(export.name, forward.name) for export, forward in loops(both_ways(listen, address))]
    assert named == [("own", "replication")] * found


def test_another_port_is_another_listener() -> None:
    config = both_ways("0.0.0.0", "198.18.0.7")
    (forward,) = config.forwards
    elsewhere = forward.model_copy(update={"listen": forward.listen._replace(port=3261)})
    assert not list(loops(config.model_copy(update={"forwards": (elsewhere,)})))


@pytest.mark.parametrize(("allowed", "told"), [("0", 1), ("1", 0)])
def test_where_foreign_addresses_can_be_bound_nobody_can_tell(tmp_path: Path, allowed: str, told: int) -> None:
    setting = tmp_path / "proc/sys/net/ipv4/ip_nonlocal_bind"
    setting.parent.mkdir(parents=True)
    setting.write_text(f"{allowed}\n")
    assert len(list(loops(both_ways("0.0.0.0", "198.18.0.7"), tmp_path))) == told


def test_a_site_does_not_start_with_one() -> None:
    with pytest.raises(OperatorError, match=r"export 'own' address = 198.18.0.7:3260 is this host itself") as raised:
        Listeners(both_ways("0.0.0.0", "198.18.0.7"))
    assert raised.value.code == ExitCode.CONFIGURATION
