"""Programs of the containers in deploy/lab that stand for arrays, the WAN, and replication between the arrays.

`array` is an iSCSI target in the foreground. `end` makes one end of the line, a TUN device in the network namespace
that it shares with a site, and hands it to `line`, which carries the packets as `bench.wan` does. So only the ends need
a capability. `handover` passes the device from one container to the other. `story` replicates the volume of one array
to the other, again and again, and compares the two byte for byte.
"""
