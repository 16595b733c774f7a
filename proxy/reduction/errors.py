"""What can be wrong with a batch; always the peer's doing."""


class BatchError(Exception):
    """The batch breaks a rule of PROTOCOL.md; the message names the place. The tunnel is closed."""


class CorruptStream(Exception):
    """Bytes that were received do not match their check; this stream is reset, nothing is stored."""
