"""The suites, by name, in the order in which they are run and reported."""

from bench.replay.suite import Suite
from bench.replay.suites.alternatives import ALTERNATIVES
from bench.replay.suites.blocks import BLOCKS
from bench.replay.suites.concurrency import CONCURRENCY
from bench.replay.suites.field import FIELD
from bench.replay.suites.frames import FRAMES
from bench.replay.suites.reduction import REDUCTION
from bench.replay.suites.window import WINDOW
from bench.replay.suites.workloads import WORKLOADS

SUITES: dict[str, Suite] = {
    suite.name: suite for suite in (FIELD, CONCURRENCY, WINDOW, FRAMES, BLOCKS, WORKLOADS, ALTERNATIVES, REDUCTION)
}
