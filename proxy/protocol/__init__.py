"""The tunnel protocol without I/O: bytes and the time go in, events and bytes come out. PROTOCOL.md is its text.

A `FrameReader` cuts what a lane receives into frames. Two `Hello`s, one a side, agree on a version, on capabilities
and on whether the lane joins the streams that there are (`pairing`). From then on a `Tunnel` is everything: it is fed
frames (`receive`) and the clock (`tick`), answers with events (`next_event`) and says what a lane should write next
(`take`). Inside it a `Lane` knows whether its connection lives, and `Streams` holds all that two paired sites share: a
`Stream` each with one direction in (`Incoming`: order, credit given) and one out (`Outgoing`: queue, credit had, what
is not acknowledged), a `StreamTable` and an `Admission` that know which numbers are live and whether one more may be,
and `Notices`, the acknowledgements and credits that wait to be told. A `Scheduler` chooses whose frame goes next: each
stream belongs to a `Share`, whose `Account` knows what it may send and has sent, by `Meter`s and `Cap`s.
When two sites lose each other for good, `Streams` is dropped whole and a new one begins.

A `PeerError` is the peer's fault and ends the tunnel; a `Misuse` is ours. Nothing here is thread-safe.
"""
