"""History and events on disk: one small SQLite file a site, written behind by a thread of its own.

What is asked for is answered from memory (`proxy.observe.steps`, `proxy.observe.journal`); the file is only read at the
start. `file` is the file, synchronous; `keeper` is the thread. Neither knows the event loop.
"""
