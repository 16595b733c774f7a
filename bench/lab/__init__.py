"""What deploy/lab plays arrays, a WAN and replication with, each in a container of its own.

`array` is an iSCSI target in the foreground. `end` makes a site's end of the line, a TUN device in the network that the
site's containers share, and hands it to `line`, which carries the packets: so only the ends need a capability, and the
line is the one of `bench.wan`. `handover` is how the device gets from one container to the other. `story` replicates
the volume of one array to the other, again and again, and compares the two byte for byte.
"""
