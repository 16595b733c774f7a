"""The bench: data, sites and measurements, made from what a user can use. Only the CLI knows it, lazily.

`datasets` generates volumes (`Dataset` yields their bytes), `replicator` sends one over plain TCP and checks what
arrives, `sites` runs a `Pair` of real site processes, `array` runs a real iSCSI target and initiator. From these
`demo` makes the table of `isthmus demo`. `pipeline` is `make bench-pipeline`: it drives the pair with the fast ends of
`load`, beside the plain relay pair of `baseline` and the single `kernels`; `figures` keeps, judges and shows what it
found. `chunking` measures chunk sizes. `overwan` is `make bench-wan`: the pair over the lines of `wan`, beside iperf3.
`replay` is `isthmus bench`: published tests, replayed and reported.
"""
