"""Moves the bytes: sockets, TLS and the event loop, around cores that do no I/O.

Only this package, `proxy.web` and the bench may import asyncio, ssl and socket. Where a docstring says "Loop thread",
everything in that class is to be called on the event loop's thread. A tour by topic:

- **Site.** `service` runs a `site` on one loop; its peers share an `environment`, `tasks` says how its parts begin
  theirs. `listeners` takes the site's addresses before all else, `loops` finds exports that lead back to them, `limits`
  starts threads while there are some to be had, and says which descriptors are not for arrays. `opening` opens the
  store, `worker` waits for the store's disk, `reading` reckons at what rate the store serves a peer, `tls` holds the
  certificates, `supervisor` speaks to systemd, `survey` and `watching` feed `proxy.observe`.
- **Arrays.** `forwards` has those of the site's file, which may change while it runs. A `forward` accepts an array's
  connections, `redirected` finds where one was meant to go, `portals` opens forwards on demand. On the far side
  `asking` reads an OPEN, and `arrays` reaches the export through `connecting`, with time limits that count only while
  the loop runs (`within`). A `relay` joins socket and stream through its `coders`; `delivery` is its inward half.
  `relays` makes and ends the relays of one peer, and hands them their streams' events; `relay_owner` states what a
  relay needs of it. `turns`, `allowance`, `pauses` and `packing` decide when a relay reads and sends, `rounds` when it
  delivers, `silence` how long it waits for the rest of a PDU or text. When a stream ends, `blaming` decides whose fault
  it is, `endings` how the array sees it, and `ended` counts it.
- **Peers.** `peers` has those of the site's file, which may change while it runs. A `peer` drives the `Tunnel` of
  `proxy.protocol`. `dialler` and `door` bring up a `lane`, `handshake` says why one failed, `long_packets` judges
  whether packets of full size pass. `lanes`, `lane_count` and `loss` decide how many lanes there are, and what each
  gets; `outlet` decides how little of that the kernel is given. `renewing`, `steadying` and `unpaused` keep BBR from
  pausing, and from forgetting the line. `shares` holds what forwards and exports are granted. `misses` asks for
  chunks that the peer referred to and that are missing here, `fills` sends those that the peer asks for.
- **Why slow.** `waits` times what a relay waits for, `lookout` judges that for a peer. **Volumes.** `tally` counts what
  one iSCSI connection reads and writes.
- **Other commands.** `inquiry` asks a running site, `holders` finds who listens on a port, `probing` tries to reach
  peers for doctor.
- **Kernel.** `sockets`, `tcpinfo`, `listener`; `heap` for the C library's memory.
"""
