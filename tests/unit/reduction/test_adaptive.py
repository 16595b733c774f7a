"""What an effort's steps become: frames, one long frame, or nothing, and never anything that cannot be decoded."""

import random
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from proxy.reduction.adaptive import AdaptiveCompression
from proxy.reduction.batch import CODEC_CONTEXT, CODEC_NONE, CODEC_ZSTD
from proxy.reduction.comparison import AT_ONCE, BYTES, Comparisons
from proxy.reduction.compression import decode
from proxy.reduction.contexts import ContextReader
from proxy.reduction.effort import LONG, STEPS, Effort, Step
from proxy.reduction.load import CompressionLoad, Measured
from proxy.reduction.sparing import Sparing
from proxy.reduction.windows import ContextMemory
from tests.unit.reduction.batches import encoded
from tests.unit.reduction.sites import noise

TEXT = b"".join(b"%d lines that compress well, " % number for number in range(400))
OWN, CONTEXT_1, CONTEXT_3 = STEPS[:3]


class Told(Effort):
    """Takes the steps that it is told to, and notes what it hears."""

    def __init__(self) -> None:
        super().__init__(CompressionLoad(), 0.0, Sparing(lambda: False))
        self.told: Step = OWN
        self.heard: list[tuple[Measured, bool]] = []
        self.passing: list[int] = []
        self.wishes: Step | None = None
        self.answers: list[float] = []
        self.spared = False
        self.turns: list[float] = []

    @property
    def spares(self) -> bool:
        return self.spared

    def spare(self, length: int, now: float) -> bool:
        return self.spared

    def turn(self, used: float, now: float) -> None:
        self.turns.append(used)

    @property
    def wanted(self) -> Step | None:
        return self.wishes

    def compared(self, left: float, now: float) -> None:
        self.answers.append(left)
        self.wishes = None

    @property
    def step(self) -> Step:
        return self.told

    def note(self, batch: Measured, *, pressed: bool, now: float) -> None:
        self.heard.append((batch, pressed))

    def passed(self, length: int, now: float) -> None:
        self.passing.append(length)


class Clock:
    """Each look at it takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def compression(effort: Effort, window_log: int = 20) -> AdaptiveCompression:
    return AdaptiveCompression(effort, lambda: True, lambda: window_log, Comparisons(), Clock(), Clock())


class Far:
    """Decodes what comes."""

    def __init__(self) -> None:
        self.context = ContextReader(ContextMemory())

    def takes(self, codec: int, data: bytes, length: int) -> bytes:
        if codec == CODEC_CONTEXT:
            return self.context.decode(data, length)
        return bytes(decode(codec, data, length))


def test_each_step() -> None:
    effort, far = Told(), Far()
    ours = compression(effort)
    for step, codec, shown in (
        (OWN, CODEC_ZSTD, "zstd 1"),
        (CONTEXT_1, CODEC_CONTEXT, "zstd 1, 1 MiB"),
        (CONTEXT_3, CODEC_CONTEXT, "zstd 3, 1 MiB"),
        (OWN, CODEC_ZSTD, "zstd 1"),
        (CONTEXT_3, CODEC_CONTEXT, "zstd 3, 1 MiB"),
    ):
        effort.told = step
        for _ in range(2):
            used, data = encoded(ours, TEXT)
            assert used == codec
            assert far.takes(used, data, len(TEXT)) == TEXT
        assert ours.in_words == shown


def test_a_context_goes_on_through_frames_of_their_own() -> None:
    effort, far = Told(), Far()
    ours = compression(effort)
    effort.told = CONTEXT_3
    content = noise(5000) + TEXT
    far.takes(*encoded(ours, content), len(content))
    assert encoded(ours, b"short") == (CODEC_NONE, b"short")
    codec, data = encoded(ours, content)
    assert len(data) < 100
    assert far.takes(codec, data, len(content)) == content


def test_without_a_window_the_level_remains() -> None:
    effort = Told()
    ours = compression(effort, window_log=0)
    effort.told = CONTEXT_3
    codec, data = encoded(ours, TEXT)
    assert codec == CODEC_ZSTD
    assert decode(codec, data, len(TEXT)) == TEXT
    assert ours.in_words == "zstd 3"


def test_what_gains_nothing_rests_but_a_context_that_has_gone_on_is_sent() -> None:
    effort, far = Told(), Far()
    ours = compression(effort)
    effort.told = CONTEXT_1
    used = []
    for seed in range(12):
        content = noise(3000, seed)
        codec, data = encoded(ours, content)
        assert len(data) < len(content) + 20
        assert far.takes(codec, data, len(content)) == content
        used.append(codec)
    assert [seed for seed, codec in enumerate(used) if codec == CODEC_CONTEXT] == [0, 3, 8]
    assert ours.in_words == "none"
    effort.told = OWN
    assert {encoded(ours, noise(3000, seed))[0] for seed in range(40)} == {CODEC_NONE}


def test_what_the_effort_hears() -> None:
    effort = Told()
    ours = compression(effort)
    _, data = encoded(ours, TEXT)
    encoded(ours, b"short")
    assert effort.heard == [(Measured(len(TEXT), len(data), 1.0, 1.0), True)]
    assert ours.seconds == 1.0
    assert not effort.passing


def test_the_effort_hears_what_passes_as_it_is() -> None:
    effort = Told()
    ours = compression(effort)
    for _ in range(6):
        encoded(ours, noise(3000))
    encoded(ours, b"short")
    assert effort.passing == [3000] * 4
    assert len(effort.heard) == 2


def test_what_is_spared_goes_as_it_is_and_is_counted() -> None:
    effort = Told()
    ours = compression(effort)
    for _ in range(9):
        encoded(ours, TEXT)
    assert ours.ratio < 0.5
    effort.spared = True
    assert encoded(ours, TEXT) == (CODEC_NONE, TEXT)
    assert encoded(ours, b"short") == (CODEC_NONE, b"short")
    assert ours.spared == len(TEXT)
    assert ours.in_words == "none, for speed"
    assert ours.ratio == 1.0
    effort.spared = False
    assert encoded(ours, TEXT)[0] == CODEC_ZSTD
    assert ours.in_words == "zstd 1"
    assert ours.spared == len(TEXT)
    assert effort.turns == sorted(set(effort.turns))
    assert len(effort.turns) == 11


def test_what_it_wants_is_compared_on_the_side() -> None:
    """Once enough was seen; what is sent meanwhile is what would be sent anyway."""
    effort, unasked = Told(), Told()
    ours, plain = compression(effort), compression(unasked)
    effort.told = unasked.told = CONTEXT_1
    effort.wishes = CONTEXT_3
    seen = 0
    while not effort.answers:
        assert seen < 2 * BYTES
        content = noise(20_000, seen) + TEXT
        assert encoded(ours, content) == encoded(plain, content)
        seen += len(content)
    assert seen >= BYTES
    assert len(effort.answers) == 1
    assert 0.5 < effort.answers[0] < 1.05


def test_streams_of_a_tunnel_compare_in_turn() -> None:
    """A few at once; what has waited is compared, too, and what a stream that has ended held is another one's."""
    efforts, comparisons = [Told() for _ in range(AT_ONCE + 2)], Comparisons()
    ours = [
        AdaptiveCompression(effort, lambda: True, lambda: 20, comparisons, lambda: 0.0, lambda: 0.0)
        for effort in efforts
    ]
    for effort in efforts:
        effort.told, effort.wishes = CONTEXT_1, CONTEXT_3
    ours[0].close()
    content = (TEXT * (BYTES // len(TEXT)))[: BYTES // 16]
    for _ in range(16):
        for stream in ours:
            encoded(stream, content)
    assert [len(effort.answers) for effort in efforts] == [1] * AT_ONCE + [0] * 2
    ours[-1].close()
    for _ in range(17):
        encoded(ours[-2], content)
    assert len(efforts[-2].answers) == 1


def test_nothing_is_compared_where_there_is_no_context_to_lose() -> None:
    effort = Told()
    ours = compression(effort, window_log=0)
    effort.told, effort.wishes = CONTEXT_1, CONTEXT_3
    encoded(ours, TEXT)
    assert effort.answers == [0.0]


@given(st.lists(st.tuples(st.sampled_from(STEPS[:4]), st.integers(1, 20_000), st.booleans()), max_size=20))
def test_any_steps_in_any_order_are_decoded(batches: list[tuple[Step, int, bool]]) -> None:
    effort, far = Told(), Far()
    ours = compression(effort)
    for step, length, random_bytes in batches:
        effort.told = step
        content = random.Random(length).randbytes(length) if random_bytes else (TEXT * 2)[:length]
        codec, data = encoded(ours, content)
        assert far.takes(codec, data, len(content)) == content


class Course:
    """A clock and the loop's CPU time, which go on as a test says."""

    def __init__(self) -> None:
        self.now = self.used = 0.0
        self.cost = 0.0
        """Seconds that a look at either takes."""

    def goes_on(self, seconds: float, busy: float) -> None:
        self.now += seconds
        self.used += busy * seconds

    def time(self) -> float:
        self.goes_on(self.cost, 1.0)
        return self.now

    def cpu_time(self) -> float:
        self.goes_on(self.cost, 1.0)
        return self.used


class Phase(NamedTuple):
    """Some batches alike, of one stream or of all in turn."""

    content: bytes
    seconds: float
    """From one to the next."""
    busy: float
    """Share of them for which the loop is."""
    cost: float
    """Seconds that a look at a clock takes, so that compressing takes about twice as much."""
    pressed: bool = False
    times: int = 120


LINES, NOISE = TEXT[:2000], noise(3000)
HELD_UP = Phase(LINES, 0.01, 1.0, 0.005)
AT_EASE = Phase(LINES, 0.02, 0.1, 1e-5)
FULL = Phase(LINES, 0.02, 0.1, 1e-5, pressed=True)
DEAR = Phase(LINES, 0.02, 1.0, 0.05, times=40)
IN_VAIN = Phase(NOISE, 0.01, 1.0, 0.005)
MIXED = Phase(NOISE + LINES, 0.01, 0.9, 0.002)
SHORT = Phase(b"short", 0.5, 0.1, 1e-5, times=5)
PAUSE = Phase(LINES, 4000.0, 0.0, 1e-5, times=1)
PHASES = (HELD_UP, AT_EASE, FULL, DEAR, IN_VAIN, MIXED, SHORT, PAUSE)
STREAMS = 3


@given(
    st.lists(st.tuples(st.sampled_from(PHASES), st.sets(st.integers(0, STREAMS - 1), min_size=1)), max_size=8),
    st.sampled_from([0.0, LONG]),
)
def test_streams_of_a_tunnel_whatever_the_line_and_the_loop_do(
    phases: list[tuple[Phase, set[int]]], round_trip: float
) -> None:
    """Each byte is decoded, and nothing is raised, also while compression is left out."""
    course, load, sparing = Course(), CompressionLoad(), Sparing(lambda: False)
    comparisons = Comparisons()
    efforts = [Effort(load, round_trip, sparing) for _ in range(STREAMS)]
    pressed: list[bool] = []
    ours = [
        AdaptiveCompression(effort, lambda: pressed[-1], lambda: 20, comparisons, course.time, course.cpu_time)
        for effort in efforts
    ]
    far = [Far() for _ in ours]
    for phase, who in phases:
        course.cost = phase.cost
        pressed.append(phase.pressed)
        for _ in range(phase.times):
            course.goes_on(phase.seconds, phase.busy)
            for number in who:
                codec, data = encoded(ours[number], phase.content)
                assert far[number].takes(codec, data, len(phase.content)) == phase.content
