"""How many bytes two sequences have in common at their beginnings."""


def common_prefix(data: bytes, at: int, view: memoryview) -> int:
    """Length of the longest common prefix of `view` and of `data` from `at` on."""
    most = min(len(view), len(data) - at)
    if data.startswith(view[:most], at):
        return most
    least = 0
    while least < most - 1:  # the first `least` are the same, the first `most` are not
        middle = (least + most) // 2 if least else 1  # mostly the very first differs
        if data.startswith(view[least:middle], at + least):
            least = middle
        else:
            most = middle
    return least
