"""HTTP for operators and their tools: health, status, metrics, and the page. A guided tour.

It reads snapshots and the watch, and asks the site to drain or reload, nothing else. A connection comes in by the
`gate`, which bounds how many there are and how long they idle; `conversation` is HTTP over it. Each request passes the
`guard`: what host it names, what page it comes from, how often its party asks (`parties`), and with which `rights`.
`routes` is the table of what there is: `query` reads parameters by it, and `document` describes it. `api` answers, in
the form of `answering`, and `fresh` keeps that within a share of the loop's time; `live` sends events as they come,
`page` has the dashboard's files. `server` puts it together, by `settings`.
"""
