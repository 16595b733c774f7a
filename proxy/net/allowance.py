"""How much may be read from an array, and how long frames are to be, so that the credit pays for all of them."""

from proxy.protocol.credit import DATA_OVERHEAD
from proxy.reduction.drafts import GRAIN_MAX

BESIDE = 2
"""Frames that are allowed for beside the full ones: the one that is being filled, and one that a pause leaves short."""


def grain_and_allowance(sendable: int, held: int, grain: int) -> tuple[int, int]:
    """Return the most literal bytes that a frame may have, and how many more plain bytes the encoder may be given.

    `sendable`: plain bytes that the credit would pay for as one frame; `held`: plain bytes that the encoder has, in no
    frame yet; `grain`: how many bytes a frame should have. Each frame costs DATA_OVERHEAD of credit. The held bytes may
    have been read when `grain` was larger: if the credit does not pay for all the frames that they would make now, the
    frames become longer than `grain`.
    """
    if held:
        payable = max(0, sendable - held) // DATA_OVERHEAD - BESIDE
        grain = max(grain, -(-held // max(1, payable)))
    grain = min(GRAIN_MAX, grain)
    return grain, sendable - held - (BESIDE + sendable // grain) * DATA_OVERHEAD
