"""Fingerprints are BLAKE3-256: two values of its own test vectors, and one that anybody can compute."""

import pytest

from dedupstore.fingerprint import CHECK_BYTES, FINGERPRINT_BYTES, fingerprint


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"),
        (b"\0", "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"),
        (b"abc", "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"),
    ],
)
def test_known_fingerprints(data: bytes, expected: str) -> None:
    assert fingerprint(data).hex() == expected
    assert fingerprint(memoryview(bytearray(data))).hex() == expected


def test_lengths() -> None:
    assert len(fingerprint(b"abc")) == FINGERPRINT_BYTES
    assert (FINGERPRINT_BYTES, CHECK_BYTES) == (32, 8)
