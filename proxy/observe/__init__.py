"""What an operator is shown: counters that the data path raises, and the snapshot that is built from them.

`counters` are plain integers with a meaning each; `waiting` accounts for the time, and `verdict` says what limits;
`volumes` counts what is read and written over iSCSI, and `advice` says whether a faster line would help; `snapshot`
is the shape of the status API, `answers` are those of the rest; `metrics` declares the names that Prometheus sees.
`watch` is fed once a second and keeps what outlasts a snapshot: `health`, warnings (`cautions`), events (`chronicle`,
`journal`), and `history` in `steps`; `readings` names the counters of a snapshot, and `trend` says how they have risen
of late. `codes` is the table of what an operator is told. Nothing here does I/O or knows who reads it.
"""
