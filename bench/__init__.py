"""The bench: data, sites and measurements, made from what a user can use. Only the CLI knows it, lazily.

What measurements are made of is in this folder. Bytes: `datasets` generates volumes (`Dataset` yields their bytes);
`replicator` sends one over plain TCP and checks what arrives; `load` has ends that are faster than a pair. What they go
through: `sites` runs a `Pair` of real site processes; `array` is a real iSCSI target with qemu-img, `initiator` one of
our own; `wan` emulates lines, and `lines` says which, and whether they were true; `slow_disk` slows reads. What it is
held against: `baseline`, a plain relay pair; the single `kernels`; what zstd alone leaves (`compressed`); `goals`. How
a count grew is a `course`; `machine` says where all that was; `tables` show it. `processes` starts and awaits whatever
runs beside us, `ending` sees to it that nothing stays of a bench, `programs` is what all those have that are programs.

The measurements: `demo` is `isthmus demo`; `pipeline` (with `pipeline_results`), `viewers` and `chunking` are the
targets of make of these names. `cases` (with `case_results`) runs those of several cases: `overwan`, over lines, and
`overiscsi`. `replay` is `isthmus bench`: published tests, replayed and reported. `lab` is what deploy/lab runs. None of
these knows another.
"""
