"""What has to be said beside a finding that rests on cells with remarks."""

from bench.replay.results import Results


def caveat(results: Results, figure: str, *cells: str) -> str:
    """In brackets, the first remark of these cells; nothing if there is none."""
    summaries = (results.summary(cell, figure) for cell in cells)
    remarks = [remark for summary in summaries if summary for remark in summary.remarks]
    return f" ({remarks[0]}: this says little)" if remarks else ""
