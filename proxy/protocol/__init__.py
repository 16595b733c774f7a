"""The tunnel protocol without I/O: bytes and the time go in, events and bytes come out. PROTOCOL.md specifies it.

A `FrameReader` cuts what a lane receives into frames. Two `Hello`s, one a side, agree on a version, on capabilities
and on whether the lane joins the streams that there are (`pairing`). From then on a `Tunnel` is everything: it is fed
frames (`receive`) and the clock (`tick`), answers with events (`next_event`) and says what lanes should write next
(`take`); its `Streams` open streams and send on them. Inside it:

- **Lanes.** A `Lane` knows whether its connection lives, `Lanes` which of them carries what, a `Write` what one is
  about to write. `Copies` sends short urgent frames by several. `Announcements` is what one side says of itself.
- **Streams.** `TunnelState` holds all that two paired sites share. Each `Stream` has a direction in (`Incoming`: order,
  credit given) and one out (`Outgoing`: queue, credit had, what is not acknowledged). `StreamTable` and `Admission`
  know which numbers are live and whether one more stream may begin. When two sites lose each other for good, the
  state is dropped whole and a new one begins.
- **Credit.** `credit` counts what we may send, `window` what the peer may; `Foretelling` promises it to streams to
  come, `Recall` asks for it back, `Awaiting` tells who waits for it. `Notices` gathers what has to be acknowledged and
  given.
- **Order.** A `Scheduler` chooses whose frame goes next: each stream belongs to a `Share`, whose `Account` knows what
  it may send and has sent, by `Meter`s, `Cap`s and `Guarantees`.

A `PeerError` is the peer's fault and ends the tunnel; a `Misuse` is ours. Nothing here is thread-safe.
"""
