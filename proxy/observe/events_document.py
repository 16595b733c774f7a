"""Writes deploy/EVENTS.md from the table of codes: `python -m proxy.observe.events_document`, in a checkout."""

from pathlib import Path

from proxy.observe.codes import CODES

PATH = Path(__file__).parents[2] / "deploy" / "EVENTS.md"

_HEAD = """\
# Events, reasons and warnings

Written by `python -m proxy.observe.events_document`; change `proxy/observe/codes.py`.

Everything that is reported to an operator has a code: events (`isthmus events`, `/api/v1/events`), reasons why
something is not healthy (`isthmus status`, `/api/v1/health`) and warnings (`isthmus status`, `/api/v1/warnings`). A
code never changes its meaning. IST-1xx are about tunnels and peers, 2xx about certificates and access, 3xx about the
store, 4xx about the site and its status listener, 5xx about what works but gains less than one would expect. What the
words mean: [GUIDE.md](GUIDE.md#words).

Some conditions come and go while their cause stays. They are reported once, as an event and in the log, and again only
after they have been absent for ten minutes:
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
