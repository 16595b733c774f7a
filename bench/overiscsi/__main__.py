"""`python -m bench.overiscsi`: the cases of `make bench-iscsi` (see the package)."""

from bench.array import ArrayFailure, IscsiTarget
from bench.cases import Benchmark, Case
from bench.ending import program
from bench.initiator.pdu import InitiatorFailure
from bench.overiscsi.images import images
from bench.overiscsi.second_pass import second_pass
from bench.overiscsi.throughput import throughput

CASES = {
    "throughput": Case("One connection that writes, MB/s: understood, and the same bytes as plain TCP", throughput),
    "second-pass": Case("A volume that was written before: % of it on the wire, both ways", second_pass),
    "images": Case("A file system after another one: % of it on the wire, both ways", images),
}
"""In the order in which they are measured."""

BENCHMARK = Benchmark(
    "bench-iscsi",
    "bench.overiscsi",
    'What it costs and brings that the pair understands iSCSI, beside protocol = "tcp".',
    CASES,
    IscsiTarget.lacking,
    (ArrayFailure, InitiatorFailure),
)

if __name__ == "__main__":
    program(BENCHMARK.run)
