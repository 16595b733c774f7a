"""HTTP for operators and their tools: health, status, metrics, and the page. A guided tour.

This package reads snapshots and the watch, and asks the site to drain or reload, nothing else. A connection comes in by
the `gate`, which bounds how many there are and how long they idle; `conversation` is HTTP over a connection. Each
request passes the `guard`, which checks the host that it names, the page that it comes from, how often its party asks
(`parties`), and its `rights`. `routes` is the table of all routes: `query` reads parameters by it, and `document`
describes it. `api` answers, in the form of `answering`; `fresh` keeps that within a share of the loop's time. `live`
sends events as they come, `page` has the dashboard's files. `server` puts everything together, by `settings`.
"""
