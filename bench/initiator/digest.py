"""CRC32C as iSCSI sends it (RFC 7143, section 13.1): four bytes, the least significant first."""

_POLYNOMIAL = 0x82F63B78


def _entry(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
    return value


_TABLE = [_entry(value) for value in range(256)]


def digest(data: bytes | memoryview) -> bytes:
    """Of a header with its AHS, or of a data segment with its padding."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return (crc ^ 0xFFFFFFFF).to_bytes(4, "little")
