"""What moves bytes: sockets, TLS and the event loop, around cores that know none of them.

Beside `proxy.web` and the bench this is all that may import asyncio, ssl and socket. Where a docstring says "Loop
thread", everything in that class is to be called on the event loop's thread. A tour, by what it is about:

- **Site.** `service` runs a `site` on one loop; `environment` is what its peers share. `listeners` takes its addresses
  before all else, `loops` finds exports that lead back to them, `limits` starts threads while they can be had.
  `opening` opens the store, `worker` waits for its disk, `reading` reckons how much that gives a peer, `tls` holds the
  certificates, `supervisor` speaks to systemd, `survey` and `watching` feed `proxy.observe`.
- **Arrays.** `forward` accepts their connections, `redirected` finds where one was meant to go, `portals` opens
  forwards on demand. On the far side `asking` reads an OPEN, and `arrays` reaches the export through `connecting`, with
  time limits that count only while the loop runs (`within`). A `relay` joins socket and stream through its `coders`,
  `delivery` is its inward half. `relays` makes and ends those of one peer, and tells them of their streams' events;
  `relay_owner` is what a relay needs of that. When it reads and sends: `turns`, `allowance`, `pauses`, `packing`. When
  it delivers: `rounds`. How long the rest of a PDU or text is waited for: `silence`. How it ends: `blaming` says by
  whose fault, `endings` how the array sees it, `ended` counts.
- **Peers.** A `peer` drives the `Tunnel` of `proxy.protocol`. `dialler` and `door` bring up a `lane`, `handshake` says
  why one failed, `long_packets` judges whether packets of full size pass. `lanes`, `lane_count` and `loss` decide how
  many there are, and what each gets; `outlet` how little of it the kernel is given. `renewing`, `steadying` and
  `unpaused` keep BBR from pausing. `shares` is what forwards and exports are granted. `misses` asks for chunks that
  were referred to and are missing here, `fills` sends those that the peer asks for.
- **Why slow.** `waits` times what a relay waits for, `lookout` judges that for a peer. **Volumes.** `tally` counts what
  one iSCSI connection reads and writes.
- **Other commands.** `inquiry` asks a running site, `holders` finds who listens on a port, `probing` tries to reach
  peers for doctor.
- **Kernel.** `sockets`, `tcpinfo`, `listener`; `heap` for the C library's memory.
"""
