"""The tunnel protocol without I/O: bytes and the time go in, events and bytes come out. PROTOCOL.md specifies it.

A `FrameReader` cuts what a lane receives into frames. The `Hello`s of both sides decide on a version, on capabilities
and on whether the lane joins the streams that there are (`pairing`). From then on the driver (`proxy.net`) deals with
a `Tunnel` alone: it feeds it frames (`receive`) and the clock (`tick`), fetches events (`next_event`) and asks what
each lane should write next (`take`). By `Tunnel.streams` it opens streams and sends on them. Inside a tunnel:

- **Lanes.** A `Lane` knows whether its connection lives, `Lanes` which lane carries what, a `Write` what one lane is
  about to write. `Copies` sends short urgent frames by several lanes. `Announcements` holds what this side says of
  itself: that it drains, how many lanes it needs, how fast its store is.
- **Streams.** `TunnelState` holds all that two paired sites share. Each `Stream` has a direction in (`Incoming`: order,
  credit given) and one out (`Outgoing`: queue, credit had, what is not acknowledged). `StreamTable` and `Admission`
  know which numbers are live and whether one more stream may begin. When two sites lose each other for good, the
  state is dropped whole and a new one begins.
- **Credit.** `credit` counts what we may send, `window` what the peer may send. `Foretelling` promises credit to the
  stream that the peer opens next, `Recall` asks for unused credit back, `Awaiting` tells when a stream that waits for
  room has it. `Notices` gathers the ACKs and CREDITs that have to be sent.
- **Order.** A `Scheduler` chooses whose frame goes next. Each stream belongs to a `Share` (what a forward or export was
  granted). The share's `Account` knows what it has sent, and, by `Meter`s, `Cap`s and `Guarantees`, what it may send.

A `PeerError` is the peer's fault and ends the tunnel; a `Misuse` is ours. Nothing here is thread-safe.
"""
