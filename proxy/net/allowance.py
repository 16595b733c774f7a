"""What an array may be let send, and how long frames may be, so that the credit pays for them all."""

from proxy.protocol.credit import DATA_OVERHEAD
from proxy.reduction.encoder import GRAIN_MAX

BESIDE = 2
"""Frames beside the full ones: the one that is being filled, and one that a pause leaves short."""


def grain_and_allowance(sendable: int, held: int, grain: int) -> tuple[int, int]:
    """The literal bytes of a frame, at most, and how many more plain bytes the encoder may be given.

    `sendable`: plain bytes of one frame that the credit takes; `held`: those that the encoder has, in no frame yet;
    `grain`: how long frames should be. What is held was read when that may have been longer: then they stay so.
    """
    payable = max(0, sendable - held) // DATA_OVERHEAD - BESIDE
    grain = min(GRAIN_MAX, max(grain, -(-held // max(1, payable))))
    return grain, sendable - held - (BESIDE + sendable // grain) * DATA_OVERHEAD
