"""The cases of `make bench-iscsi`, in the order in which they are measured."""

from bench.overiscsi.images import images
from bench.overiscsi.second_pass import second_pass
from bench.overiscsi.throughput import throughput
from bench.suite import Case

CASES = {
    "throughput": Case("One connection that writes, MB/s: understood, and the same bytes as plain TCP", throughput),
    "second-pass": Case("A volume that was written before: % of it on the wire, both ways", second_pass),
    "images": Case("A file system after another one: % of it on the wire, both ways", images),
}
