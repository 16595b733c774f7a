"""Texts that the contract's files are changed by."""

from tests.unit.config.contract import EAST

NORTH = '[[peer]]\nname = "north"\naddress = "198.18.0.3:4500"\ncertificate = "north.crt"\n'
"""Another peer."""
FORWARD = '[[forward]]\nname = "two"\nlisten = "127.0.0.1:3261"\npeer = "west"\nexport = "array"\n'
"""Another forward."""
EXPORT = '[[export]]\nname = "array"\naddress = "10.0.0.1:3260"\npeers = ["west"]\n'
"""East has none."""
_PEER = 'certificate = "west.crt"\n'


def of_peer(text: str) -> str:
    """East's file, where its peer has this as well."""
    return EAST.replace(_PEER, _PEER + text)
