"""`make bench-wan`: what a pair does over lines that are slow, long and lossy, beside plain TCP on the same lines.

`cases` names what is measured; each case is a function that takes the `Bench` (how long, where, whom to tell) and
yields a `Figure` for each line of its table. `lines` says what a line is like and whether it was true; `iperf` and
`course` measure: plain TCP, and how something grew. `results` judges and shows. The pair is measured as shipped, with
TLS and verification on, and every byte is compared.
"""
