"""From plain bytes to batches and back, synchronously and without I/O. A guided tour.

`Encoder` cuts what an array sends into chunks. `Matcher` decides how each is sent: as a reference if the peer's store
holds it, otherwise as slices of stored chunks or as literal bytes, with a mark to learn it. `Drafts` writes that as
tokens into batches. `Decoder` does the reverse on the far side; `Obtaining` gets the chunks that tokens name, and says
which are lacking, with `ahead` also for batches that wait behind. `Holdings` is what one site believes the other's
store to hold, `Reliability` how often that was wrong. `tokens` and `batch` are the formats (PROTOCOL.md, "Batches"). An
`outgoing` batch is among the `drafts` while it is written, and `underway` until the peer has consumed it; `runs` are
many chunks in one token. `relief` limits how much is referred to at a time if the peer's store is slow.

What a stream will send is guessed: `course` knows what is stored behind the last chunk, `beginnings` knows chunks by
their first bytes, and `prefix` compares. `pace` says whether the source has paused.

A batch's literal bytes travel in a zstd frame of their own (`compression`) or as part of one frame through the whole
stream (`contexts`, in memory that `windows` bounds). `adaptive` compresses them as hard as `effort` says, which judges
by the `load` of the loop and by a `comparison` of levels on the side, or not at all if `sparing` says so.

For iSCSI, whose headers and payload go apart, `span_encoder` and `span_decoder` wrap encoder and decoder; `payload`
ends chunks where the addresses on the volume call for it.
"""
