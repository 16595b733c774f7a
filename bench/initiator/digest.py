"""CRC32C as iSCSI sends it (RFC 7143, section 13.1): four bytes, the least significant first."""

from crc32c import crc32c


def digest(data: bytes | memoryview) -> bytes:
    """Of a header with its AHS, or of a data segment with its padding."""
    return crc32c(data).to_bytes(4, "little")
