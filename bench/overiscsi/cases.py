"""The cases of `make bench-iscsi`, in the order in which they are measured."""

from bench.overiscsi.images import images
from bench.overiscsi.second_pass import second_pass
from bench.overiscsi.throughput import throughput
from bench.overwan.cases import Case

CASES = {
    "throughput": Case(
        "One connection that writes, MB/s: PDUs understood, beside the same bytes as plain TCP", throughput
    ),
    "second-pass": Case(
        "A volume that was written before, otherwise: bytes on the wire, both ways, % of it", second_pass
    ),
    "images": Case("A file system after another one: bytes on the wire, both ways, % of the volume", images),
}
