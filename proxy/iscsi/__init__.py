"""iSCSI (RFC 7143) without I/O: what the pair has to understand of the connections that it carries.

A `Framer` cuts the bytes that this side's array sends into spans: *records* (a PDU's header, and data that belongs to
no volume) and *payload* (data of reads and writes, with its `Address` on the volume where that is known). On the far
side a `Weaver` makes the same bytes of them again: it parses the header in a record and so knows how much payload
follows it; it computes padding and digests. `Predictor` and `Restorer` turn records into differences that compress
well, and back. `record` is the format.

Both directions of a connection meet, at each site, in one `Connection`: the Framer tells it of the PDUs that this
side's array sends, the Weaver of the others. It follows the login (`keys`) and the commands under way (`tasks`,
`scsi`), and so knows from where on there are digests, and where on its volume data belongs. Whether bytes are woven
exactly does not depend on it.

One thing may be changed on the way to an initiator: the addresses of portals that a target names (`portals`), if its
Weaver is given `PortalTexts`.

What does not parse falls back: the rest of the direction is payload as it is. `RecordError` is the peer's fault.
Nothing here is thread-safe; the time is an argument, in seconds of any clock that goes forward.
"""
