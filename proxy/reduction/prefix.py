"""How far two runs of bytes are the same."""


def alike(data: bytes, at: int, view: memoryview) -> int:
    """How many bytes of `view` are those of `data` from `at` on."""
    most = min(len(view), len(data) - at)
    if data.startswith(view[:most], at):
        return most
    least = 0
    while least < most - 1:  # the first `least` are the same, the first `most` are not
        middle = (least + most) // 2
        if data.startswith(view[least:middle], at + least):
            least = middle
        else:
            most = middle
    return least
