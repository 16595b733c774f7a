"""What can go wrong between a `Framer` and a `Weaver`."""


class RecordError(Exception):
    """The peer sent records or payload that no Framer writes: its stream cannot be woven and is to be reset."""
