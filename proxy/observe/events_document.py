"""Writes deploy/EVENTS.md from the table of codes: `python -m proxy.observe.events_document`, in a checkout."""

from pathlib import Path

from proxy.observe.codes import CODES

PATH = Path(__file__).parents[2] / "deploy" / "EVENTS.md"

_HEAD = """\
# Events, reasons and warnings

Written by `python -m proxy.observe.events_document`; change `proxy/observe/codes.py`.

Everything that is reported to an operator has a code: events (`/api/v1/events`), reasons of the health ladder
(`/api/v1/health`) and warnings (`/api/v1/warnings`). A code never changes its meaning. IST-1xx are about tunnels and
peers, 2xx about trust, 3xx about the store, 4xx about the site and its status listener, 5xx about what gains less than
one would expect. What the words mean: [GUIDE.md](GUIDE.md#words).

Some of this comes and goes while its cause stays. An event and a line of the log tell it once, and again only if it has
not held for ten minutes. This goes for
{recurring}.

| code | severity | what it means | what to do |
|---|---|---|---|
"""


def document() -> str:
    """The file's content."""
    rows = (f"| {each.code} | {each.severity} | {each.meaning} | {each.remedy} |\n" for each in CODES)
    *most, last = (each.code for each in CODES if each.recurs)
    return _HEAD.format(recurring=f"{', '.join(most)} and {last}") + "".join(rows)


if __name__ == "__main__":
    PATH.write_text(document())
