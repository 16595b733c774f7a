"""An iSCSI initiator of our own: small, on blocking sockets, and free to do what qemu-img and libiscsi do not.

`Initiator` logs in as its `Wishes` say (`login`: keys, CHAP, what was `Agreed`), and submits SCSI commands (`cdb`)
as `Task`s, any number at once. `pdu` has the layout of every PDU that it sends or takes, and `InitiatorFailure`, of
which kind all its errors are except those of the network.
All of it was written from RFC 7143, independently of `proxy.iscsi`, so each of the two shows mistakes of the other.
"""
