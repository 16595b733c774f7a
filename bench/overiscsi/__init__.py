"""`make bench-iscsi`: what it costs and what it brings that the pair understands iSCSI, beside `protocol = "tcp"`.

A module for each case, and `__main__` lists them: `bench.cases` says what a case is. Throughput is measured with ends
that are cheaper than any array (`conversation`: both directions of a connection as bytes made beforehand; `ends`: who
sends and takes them), the rest with a real target, qemu-img and the initiator of `bench.initiator`. `stage` has target,
pair and forwards of either protocol. TLS and verification are on, and every byte is compared.
"""
