"""What can go wrong with an emulated line."""


class WanFailure(Exception):
    """The line cannot be set up, found or changed; the message names the thing, the place and the remedy."""
