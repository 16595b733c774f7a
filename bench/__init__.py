"""The bench: data, sites and measurements, made from what a user can use. Only the CLI knows it, lazily.

`datasets` generates volumes (`Dataset` yields their bytes), `replicator` sends one over plain TCP and checks what
arrives, `sites` runs a `Pair` of real site processes, `array` runs a real iSCSI target. From these `demo` makes the
table of `isthmus demo`, and `pipeline` the figures of `make bench-pipeline`, beside the plain relay of `baseline` and
the single `kernels`.
"""
