"""Header and data digests: CRC32C, sent with its lowest byte first (RFC 7143, 13.1 and appendix A)."""

from crc32c import crc32c

__all__ = ["crc32c", "digest_bytes", "digest_of"]


def digest_bytes(value: int) -> bytes:
    """The four bytes of a CRC in a PDU."""
    return value.to_bytes(4, "little")


def digest_of(data: bytes | memoryview) -> bytes:
    """The digest of these bytes, as a PDU has it. `crc32c(more, value)` continues a CRC."""
    return digest_bytes(crc32c(data))
