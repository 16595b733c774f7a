"""The only place that knows asyncio, ssl and sockets.

`service.run` starts a `Site`: its store, its peers, its listeners. A `Peer` drives the tunnel to one other site: it
dials or answers `Lane`s (TLS connections), feeds what they receive to `proxy.protocol.Tunnel` and writes what that
wants sent. A `Relay` joins one array connection to one stream: it feeds an `Encoder` from the socket and a `Decoder`
from the tunnel. Whatever ends a relay goes through `Relay.close`, with a reason.
"""
