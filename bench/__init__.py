"""The bench: data, sites and measurements, made from what a user can use. Only the CLI knows it, lazily.

This folder has the parts of measurements. Bytes: `datasets` generates volumes (`Dataset` yields their bytes);
`replicator` sends one over plain TCP and checks what arrives; `load` has ends that are faster than a pair. What the
bytes go through: `sites` runs a `Pair` of real site processes; `array` is a real iSCSI target with qemu-img,
`initiator` an initiator of our own; `wan` emulates lines, and `lines` says which, and whether they were true;
`slow_disk` slows reads. What results are held against: `baseline`, a plain relay pair; the single `kernels`; what zstd
alone leaves (`compressed`); `goals`. A `course` is how a count grew; `machine` describes the host; `tables` show
figures. `processes` starts processes and awaits them, `ending` makes sure that a bench leaves nothing behind, and
`programs` has what all benches that are programs share.

The measurements: `demo` is `isthmus demo`; `pipeline` (with `pipeline_results`), `viewers` and `chunking` are the
targets of make of these names. `cases` (with `case_results`) runs those of several cases: `overwan`, over lines, and
`overiscsi`. `replay` is `isthmus bench`: published tests, replayed and reported. `lab` is what deploy/lab runs. None of
these knows another.
"""
