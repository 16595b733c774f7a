"""Where chunks end for the sake of addresses."""

import pytest

from proxy.iscsi.span import Address
from proxy.reduction.borders import WINDOW, Borders


def test_what_continues_does_not_jump() -> None:
    borders = Borders()
    assert borders.jumps(Address(0, 0))
    assert list(borders.pieces(Address(0, 0), 512)) == [(512, False)]
    assert not borders.jumps(Address(0, 512))
    assert borders.jumps(Address(0, 1024))
    assert borders.jumps(Address(1, 512))
    assert borders.jumps(None)


def test_data_without_an_address_continues_data_without_one() -> None:
    borders = Borders()
    assert not borders.jumps(None)
    assert list(borders.pieces(None, 5 * WINDOW)) == [(5 * WINDOW, False)]
    assert not borders.jumps(None)
    assert borders.jumps(Address(0, 5 * WINDOW))


@pytest.mark.parametrize(
    ("byte", "length", "pieces"),
    [
        (0, WINDOW, [(WINDOW, True)]),
        (0, WINDOW - 1, [(WINDOW - 1, False)]),
        (0, WINDOW + 1, [(WINDOW, True), (1, False)]),
        (WINDOW - 512, 1024, [(512, True), (512, False)]),
        (3 * WINDOW, 2 * WINDOW, [(WINDOW, True), (WINDOW, True)]),
        (100, 3 * WINDOW, [(WINDOW - 100, True), (WINDOW, True), (WINDOW, True), (100, False)]),
    ],
)
def test_chunks_end_at_multiples_of_the_window(byte: int, length: int, pieces: list[tuple[int, bool]]) -> None:
    borders = Borders()
    assert list(borders.pieces(Address(7, byte), length)) == pieces
    assert not borders.jumps(Address(7, byte + length))
