"""A volume's window that is left before its end: what was delivered there keeps the borders that it had."""

from dedupstore.chunker import Chunker
from tests.unit.iscsi.pdus import command, data_out, write_10
from tests.unit.reduction.sites import noise, two_sites
from tests.unit.reduction.span_sites import Talk

KIB = 1 << 10


def test_what_was_delivered_near_a_windows_end_is_cut_as_it_was_when_the_rest_goes_as_it_is() -> None:
    """Content made no border there. Had it made one afterwards, all streams of the tunnel would have been reset."""
    for seed in range(8):
        talk = Talk(*two_sites(), Chunker())
        talk.log_in()
        begun = data_out(1, noise(60 * KIB, seed))
        talk.out.say(command(1, write_10(0, 128)) + begun + bytes(20))
        talk.out.give_up()
        talk.out.say(noise(100 * KIB, seed + 100))
        talk.end()


def test_nor_is_it_cut_otherwise_when_short_commands_go_on_elsewhere() -> None:
    for seed in range(20):
        talk = Talk(*two_sites(), Chunker(1 * KIB, 4 * KIB, 16 * KIB))
        talk.log_in()
        for tag, page in enumerate((128 - 8, 1000, 2000, 3000)):
            talk.out.say(command(tag, write_10(page, 7)) + data_out(tag, noise(7 * 512, seed + tag)))
        talk.end()
