"""Whatever lies in a certificate or key file, it is read or refused with a message that names the file."""

import base64
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy import identity
from proxy.identity import IdentityFault, generate

in_one_directory = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def read_both(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for read in (identity.read_certificates, identity.read_public_key):
        try:
            read(path)
        except IdentityFault as fault:
            refusal = fault.message
            if not refusal.startswith(str(path)):
                pytest.fail(refusal)


@in_one_directory
@given(st.binary(max_size=200))
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    read_both(tmp_path / "file", content)


@in_one_directory
@given(st.sampled_from(["east.crt", "east.key"]), st.integers(0, 10_000), st.binary(max_size=8))
def test_flipped_bytes(tmp_path: Path, name: str, at: int, change: bytes) -> None:
    """The text around stays PEM, so that what is damaged is the structure within."""
    if not (tmp_path / name).exists():
        generate("east", tmp_path)
    first, *body, last = (tmp_path / name).read_text().splitlines()
    der = base64.b64decode("".join(body))
    start = at % len(der)
    damaged = der[:start] + change + der[start + len(change) :]
    read_both(tmp_path / "file", f"{first}\n{base64.encodebytes(damaged).decode()}{last}\n".encode())
