"""CRC32C as RFC 7143, appendix A.4, shows it."""

import pytest

from proxy.iscsi.digest import crc32c, digest_bytes, digest_of

READ_COMMAND = (
    "01c00000 00000000 00000000 00000000 14000000 00000400 00000014 00000018 28000000 00000000 02000000 00000000"
)


@pytest.mark.parametrize(
    ("data", "digest"),
    [
        (bytes(32), "aa36918a"),
        (b"\xff" * 32, "43aba862"),
        (bytes(range(32)), "4e79dd46"),
        (bytes(reversed(range(32))), "5cdb3f11"),
        (bytes.fromhex(READ_COMMAND), "563a96d9"),
    ],
)
def test_examples(data: bytes, digest: str) -> None:
    assert digest_of(data) == bytes.fromhex(digest)
    assert digest_bytes(crc32c(memoryview(bytearray(data[9:])), crc32c(data[:9]))) == bytes.fromhex(digest)
