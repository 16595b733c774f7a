"""What a lane's other end has shown is known as long as the lane is, however its TLS ends."""

import ssl
from pathlib import Path

import uvloop

from tests.unit.net.dialled import Owner, dialled


def test_a_certificate_is_known_after_an_alert_has_ended_tls(tmp_path: Path) -> None:
    """In TLS 1.3 a refusal is heard of once the connection is up."""

    async def refused() -> Owner:
        async with dialled(tmp_path, accepts="west") as found:
            pass
        return found.owner

    owner = uvloop.run(refused())
    assert owner.shown is not None
    assert owner.shown[0] == ssl.PEM_cert_to_DER_cert((tmp_path / "west.crt").read_text())
    assert owner.shown[1]["subject"] == ((("commonName", "west"),),)
    assert "alert" in owner.reason or "refuse" in owner.reason, owner.reason
