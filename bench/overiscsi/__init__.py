"""`make bench-iscsi`: what it costs and gains that the pair understands iSCSI, compared with `protocol = "tcp"`.

Each case has a module; `__main__` lists them, and `bench.cases` says what a case is. Throughput is measured with ends
that cost less than any array (`conversation` makes both directions of a connection as bytes beforehand, `ends` sends
and takes them). The other cases use a real target, qemu-img and the initiator of `bench.initiator`; `stage` sets up the
target and the pair, with a forward of either protocol. TLS and verification are on, and every byte is compared.
"""
