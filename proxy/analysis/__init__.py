"""What reduction would save on data that somebody has: read once, in bounded memory, with the product's own means.

A guided tour. `inputs` finds files and devices and reads them. `Analysis` (`analysis`) is fed their bytes as if they
were one volume; it hands them to a `Cutter` for each chunk size (`chunks`), which counts distinct bytes in a bounded
sample, to stores of many sizes (`stores`), and in stretches to compressors (`compressibility`). What it found is a
`Findings` (`findings`), which also knows what follows: what crosses the line, the best chunk size, how large a store
pays, how long a replication takes.

Synchronous, for one thread. Sizes are bytes, shares 0 to 1, rates bits a second.
"""
