"""Is this host fit for its site? Facts in, findings out.

A guided tour. `findings` is what an operator reads: a level, what was found, and the remedy. `facts` is what can be
known of a host and its peers, as plain values. `host` reads those of them that lie in /proc and /sys, and is the only
module here that opens files; `proxy.net.probing` asks the network for the others. Everything else is judgement, and
pure: `kernel` (congestion control, buffers, MTU probing), `windows` (buffers and memory against the line), `resources`
(descriptors, CPU, memory, disk), `trust` (certificates, clock), `peers` (reachability, TLS, path), `addresses`
(listeners, exports). `wording` writes figures and commands.

Rates are bits a second, sizes bytes, times seconds.
"""
