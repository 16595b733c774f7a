"""History and events on disk: one small SQLite file a site, written behind by a thread of its own.

A site answers from memory (`proxy.observe.steps`, `proxy.observe.journal`), and reads its file only at the start.
`file` is the file, synchronous; `keeper` is the thread; `reading` is for commands that look into the file of a site
that does not run. None of them knows the event loop.
"""
