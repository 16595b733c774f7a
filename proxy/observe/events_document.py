"""Writes deploy/EVENTS.md from the table of codes: `python -m proxy.observe.events_document`, in a checkout."""

from pathlib import Path

from proxy.observe.codes import CODES

PATH = Path(__file__).parents[2] / "deploy" / "EVENTS.md"

_HEAD = """\
# Events, reasons and warnings

Written by `python -m proxy.observe.events_document`; change `proxy/observe/codes.py`.

What an operator is told of has a code that never changes its meaning: in events (`/api/v1/events`), as a reason of the
health ladder (`/api/v1/health`), and as a warning (`/api/v1/warnings`). IST-1xx are about tunnels and peers, 2xx about
trust, 3xx about the store, 4xx about the site and its status listener, 5xx about what gains less than one would expect.
Words that need a meaning have it in [GUIDE.md](GUIDE.md#words).

| code | severity | what it means | what to do |
|---|---|---|---|
"""


def document() -> str:
    """The file's content."""
    rows = (f"| {each.code} | {each.severity} | {each.meaning} | {each.remedy} |\n" for each in CODES)
    return _HEAD + "".join(rows)


if __name__ == "__main__":
    PATH.write_text(document())
