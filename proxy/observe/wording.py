"""Words for counts, in sentences for operators (`proxy.figures` has those for sizes and times)."""


def number_of_streams(count: int) -> str:
    """1 stream, 2 streams"""
    return f"{count} {'stream' if count == 1 else 'streams'}"
