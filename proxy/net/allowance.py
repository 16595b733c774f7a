"""How much may be read from an array, and how long frames are to be, so that the credit pays for all of them."""

from proxy.protocol.credit import DATA_OVERHEAD
from proxy.reduction.drafts import GRAIN_MAX

BESIDE = 2
"""Frames beside the full ones: the one that is being filled, and one that a pause leaves short."""


def grain_and_allowance(sendable: int, held: int, grain: int) -> tuple[int, int]:
    """The literal bytes of a frame, at most, and how many more plain bytes the encoder may be given.

    `sendable`: plain bytes that the credit takes as one frame; `held`: those that the encoder has, in no frame yet;
    `grain`: how long frames should be. Each frame costs DATA_OVERHEAD. What is held may have been read when frames were
    to be longer; if the credit does not pay for as many as it would make now, they become longer than `grain`.
    """
    payable = max(0, sendable - held) // DATA_OVERHEAD - BESIDE
    grain = min(GRAIN_MAX, max(grain, -(-held // max(1, payable))))
    return grain, sendable - held - (BESIDE + sendable // grain) * DATA_OVERHEAD
