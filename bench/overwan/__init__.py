"""`make bench-wan`: what a pair does over lines that are slow, long and lossy, beside plain TCP on the same lines.

A module for each case, and `__main__` lists them: `bench.cases` says what a case is. `streams` has a pair at the ends
of a line, and what goes through it; `iperf` is plain TCP. The pair is measured as shipped, with TLS and verification
on, and every byte is compared.
"""
