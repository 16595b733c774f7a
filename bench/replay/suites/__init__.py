"""The suites, by name, in the order in which they are run and reported."""

from bench.replay.suite import Suite
from bench.replay.suites.alternatives import ALTERNATIVES
from bench.replay.suites.field import FIELD
from bench.replay.suites.frames import FRAMES
from bench.replay.suites.window import WINDOW

SUITES: dict[str, Suite] = {suite.name: suite for suite in (FIELD, WINDOW, FRAMES, ALTERNATIVES)}
