"""From plain bytes to batches and back, synchronously and without I/O.

`Encoder` cuts what an array sends into chunks and writes tokens: a chunk that the peer's store holds becomes a
reference, any other its bytes and a mark to learn it. `Decoder` does the reverse on the far side, `Obtaining` has what
is referred to and says what it lacks. `Holdings` is what one site believes the other's store to hold. `tokens` and
`batch` are the formats (PROTOCOL.md, "Batches"); `compression` decides how a batch's literal bytes travel, by itself or
(`contexts`) as part of one frame through the whole stream, in memory that `windows` bounds. `effort` decides how hard
by the `load` of the loop, `sparing` whether at all, `adaptive` does it.
`span_encoder` and `span_decoder` do the same for iSCSI, whose headers and payload go apart, with `payload` where
addresses call for borders. `course` and `beginnings` say what is expected next, by `likeness` how far it is the same;
`pace` whether the source has paused. `draft` is a batch being written; `underway` and `runs` are about what is on its
way. `comparison` tries levels on the side.
"""
