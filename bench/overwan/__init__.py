"""`make bench-wan`: what a pair does over lines that are slow, long and lossy, beside plain TCP on the same lines.

There is a module for each case (`bench.cases` says what a case is), and `__main__` lists them. `streams` has a pair at
the ends of a line, and the streams through it; `iperf` is plain TCP. The pair is measured as shipped, with TLS and
verification on, and every byte is compared.
"""
