"""History and events on disk: one small SQLite file a site, written behind by a thread of its own.

What a site is asked for it answers from memory (`proxy.observe.steps`, `proxy.observe.journal`); its file is only read
at the start. `file` is the file, synchronous; `keeper` is the thread; `reading` is for who looks into the file of a
site that does not run. None of them knows the event loop.
"""
