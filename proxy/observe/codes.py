"""Everything that an operator is told of by code: events, reasons of the health ladder, warnings. One table.

Codes are public interface: none changes its meaning, none is used again. deploy/EVENTS.md is written from here
(`python -m proxy.observe.events_document`).

IST-1xx: tunnels and peers; 2xx: trust; 3xx: the store; 4xx: the site itself and its listener; 5xx: what gains less than
one would expect.
"""

from dataclasses import dataclass

from proxy.observe.answers import Severity


@dataclass(frozen=True, slots=True)
class Code:
    """What happened, or holds, in general; how much it matters, and what to do."""

    code: str
    severity: Severity
    meaning: str
    remedy: str = ""
    floods: bool = False
    """Strangers can cause it: within a minute it is told once, with the newest one's words."""
    logged: bool = False
    """It is a line of the log as well, since nothing else there says so."""
    recurs: bool = False
    """It comes and goes while its cause stays: it is told again only if it has not held for ten minutes."""

    def __str__(self) -> str:
        return self.code


_INFO, _WARNING, _ERROR = Severity.INFO, Severity.WARNING, Severity.ERROR

TUNNEL_UP = Code("IST-101", _INFO, "The tunnel to a peer has come up.")
TUNNEL_DOWN = Code(
    "IST-102",
    _ERROR,
    "No lane to a peer is up: the last one was lost, or none has come up yet. Or nothing is heard on any, which counts"
    " as an outage only if it lasts until they are lost. From then arrays' connections are held for `tunnel.grace`.",
    "see the peer's last error; `isthmus doctor` on both hosts says what keeps them apart",
)
RESUMED = Code("IST-103", _INFO, "After an outage, the streams have gone on where they had stopped.")
STREAMS_RESET = Code(
    "IST-104",
    _ERROR,
    "Streams were reset because the outage lasted longer than `tunnel.grace`, or because the peer ended or was"
    " restarted. If it ended in order, the event says so.",
    "the arrays connect again and repeat what has no status; if outages last longer, raise `tunnel.grace`",
)
FLAPPING = Code(
    "IST-105",
    _WARNING,
    "The tunnel was lost three times or more within ten minutes, not counting orderly ends of the peer.",
    "have the line checked. If the log says each time that a site has lost its side of the tunnel, either a site dies"
    " again and again (see its log), or two sites run with the same key: stop the wrong one",
)
LANE_SILENT = Code(
    "IST-106",
    _WARNING,
    "Nothing is heard on one lane; the other lanes carry on.",
    "nothing to do if it lasts only seconds; otherwise have the line checked",
)
LOSSY = Code(
    "IST-107",
    _WARNING,
    "More than 5 % of what a lane sent within a minute had to be sent again. It is over below 3 %. Lanes that send less"
    " than 0.5 MB a minute are not judged.",
    "have the line checked; if the lane does not use BBR, which tolerates loss, enable it (`modprobe tcp_bbr`), then"
    " `isthmus reload`",
    logged=True,
    recurs=True,
)
PEER_MISBEHAVES = Code(
    "IST-108",
    _ERROR,
    "Chunks from a peer did not match their fingerprints and were refused.",
    "look at the peer's log, and test the memory of its host",
)
REFERENCES_SUSPENDED = Code(
    "IST-109",
    _WARNING,
    "The peer lacked many chunks that references named, or a chunk that is lost here as well. So all data to it is sent"
    " as literals for 30 s at a time.",
    "nothing to do if a store was wiped or damaged; if the peer's store is smaller than this one, give it the same"
    " `store.size` and restart that site; where IST-504 is told as well, both stores are too small",
    logged=True,
    recurs=True,
)
SHORT_PACKETS = Code(
    "IST-110",
    _WARNING,
    "Packets of full size are lost on the way to a peer, so short ones are sent.",
    "let ICMP pass on that path, or lower the MTU of the interface that leads there; then `isthmus reload`",
    logged=True,
)
OTHER_CONGESTION_CONTROL = Code(
    "IST-111",
    _WARNING,
    "The kernel does not offer the congestion control that `tunnel.congestion_control` asks for.",
    "load it (such as `modprobe tcp_bbr`), allow it to this user (net.ipv4.tcp_allowed_congestion_control), or write"
    ' "auto"; then `isthmus reload`',
    logged=True,
)
EXPORT_UNREACHABLE = Code(
    "IST-112",
    _ERROR,
    "The array behind an export cannot be reached, so connections to it are reset at once. Both sites report it."
    " It is over when a connection succeeds, or ten minutes after the last attempt.",
    "at the export's site, `isthmus doctor` says why; start the array's target, or correct the export's `address` and"
    " `isthmus reload` there",
)
NOT_EXPORTED = Code(
    "IST-113",
    _ERROR,
    "A forward asks for something that the other site does not export to this one, so its connections are reset"
    " at once. Both sites report it. It is over when a connection succeeds, or ten minutes after the last"
    " attempt.",
    "make the forward's `export` at one site agree with `name`, `peers` and `range` of the export at the other;"
    " `isthmus reload` where it was changed",
)
PEER_DRAINS = Code(
    "IST-114",
    _INFO,
    "A peer drains: it takes no new connections, so they are reset at once, and it ends when its streams have ended.",
    "nothing to do if it is being restarted; otherwise start it again when it has ended",
)
PEER_ENDED = Code(
    "IST-115",
    _INFO,
    "A peer has ended in order, so there is no tunnel to it until it is started again; or it has this site in its file"
    " no more, which this site's log says. If it is not back within ten minutes, or is back and one site refuses the"
    " other, that is told as IST-102. Nobody can tell whether it is the peer that dials in and whose certificate is"
    " refused: that is IST-201, and IST-102 after ten minutes.",
    "none if it is being restarted; otherwise start it again, or if it has this site in its file no more, take it out"
    " of this site's file as well",
)
REFUSED = Code(
    "IST-201",
    _WARNING,
    "A connection to the tunnel listener was refused.",
    "the log has its address and the reason; if it is a peer, `isthmus doctor` on both hosts says what to do",
    floods=True,
)
CERTIFICATE_ENDS = Code(
    "IST-202",
    _WARNING,
    "A certificate expires within 30 days.",
    "make a new one (`isthmus keygen` for a site's own), give it to the sites that pin it, then `isthmus reload` there"
    " and here",
    logged=True,
)
CERTIFICATE_ENDED = Code(
    "IST-203",
    _ERROR,
    "A certificate has expired. If it is a site's, no new lane comes up with it.",
    "if this host's clock is right, make a new one now, give it to the sites that pin it, then `isthmus reload` there"
    " and here",
    logged=True,
)
RELOAD_FAILED = Code(
    "IST-204",
    _ERROR,
    "New files of a site (its own, certificates, tokens) cannot be used; the old ones stay in use.",
    "correct what is named, then `isthmus reload`",
)
RELOADED = Code("IST-205", _INFO, "The site's file, certificates, keys, pins and tokens were read again.")
STORE_ALARM = Code(
    "IST-301",
    _ERROR,
    "The store has a problem. Traffic goes on, but perhaps nothing is stored, or found of what is. The store tries its"
    " disk again by itself: soon at first, later once an hour, and at each start.",
    "make sure that its disk works and has room",
    logged=True,
)
STORE_WELL = Code("IST-302", _INFO, "The store has had no problem for a minute.", logged=True)
STORE_SET_ASIDE = Code(
    "IST-303",
    _ERROR,
    "The store on disk could not be trusted: it was set aside, and an empty one took its place. The event names the"
    " copy; the reason goes away within a minute after you have deleted it.",
    "first see what happened to the disk; the new store warms up by itself",
    logged=True,
)
CHUNKS_DROPPED = Code(
    "IST-304",
    _ERROR,
    "Chunks of this site's store failed verification. They were dropped and fetched again; nothing wrong was"
    " delivered.",
    "test the disk and the memory of this host",
    logged=True,
)
UNLEARNED = Code(
    "IST-305",
    _WARNING,
    "Data passes without being stored, because there is no room for it or the disk does not keep up.",
    "make room on the disk, or use a faster one; until then such data has to cross the line each time",
    logged=True,
)
STORE_SHRUNK = Code(
    "IST-306",
    _WARNING,
    "`store.size` is smaller than what the store on disk held, so what had no room any more was dropped at the start."
    " The event says how much.",
    "nothing to do if that was meant; otherwise set `store.size` as it was and restart: the store warms up by itself",
    logged=True,
)
STARTED = Code("IST-401", _INFO, "The site has started.")
DRAINING = Code("IST-402", _INFO, "The site drains: it takes no new connections, and ends when its streams have ended.")
CONFIGURATION_CHANGED = Code("IST-403", _INFO, "The site's file has changed since its last start.", logged=True)
HISTORY_IN_MEMORY = Code(
    "IST-404",
    _WARNING,
    "History and events are kept in memory only: they are lost at a restart.",
    "make room on the disk of the history file; or have `status.history` name another file that the site can write,"
    " then restart the site",
    logged=True,
    recurs=True,
)
HISTORY_SET_ASIDE = Code(
    "IST-405",
    _WARNING,
    "The history file is damaged, or of another release; it was set aside, and an empty one took its place.",
    "if it is damaged, see what happened to the disk; then delete the copy that was set aside",
    logged=True,
)
ACCESS_DENIED = Code(
    "IST-406",
    _WARNING,
    "Requests to the status listener had no token or a wrong one, or came from web pages of other origins.",
    "if it is a program of yours: give it the token; otherwise see who can reach the listener",
    floods=True,
    logged=True,
)
CONTROLLED = Code("IST-407", _INFO, "Somebody had the site drain or reload over the API.")
BUSY = Code(
    "IST-408",
    _WARNING,
    "The site's event loop is busy more than 90 % of the time, so the CPU limits what it can carry.",
    "use a faster core, or move other programs off the host",
    logged=True,
    recurs=True,
)
STOOD_STILL = Code(
    "IST-409",
    _WARNING,
    "The site stood still for more than 5 s. Faults of lanes and peers that were reported at that time come from this.",
    "see whether the host was suspended, moved, copied or short of memory; the line is not to blame",
    logged=True,
)
NOT_ENDED = Code(
    "IST-410",
    _WARNING,
    "The site's last run did not end in order: it was killed, it crashed, or its host went down.",
    "unless you know why: see whether the kernel's log (journalctl -k) or the container's OOMKilled says that memory"
    " ran out; `isthmus doctor` tells how much the site may take",
    logged=True,
)
MEMORY_LIMITED = Code(
    "IST-411",
    _WARNING,
    "The site's control group, which is that of its container or unit, allows less memory than the site may take by its"
    " file. When it needs more, the kernel kills it, or, above memory.high, slows it down.",
    "allow more, or lower what the event names; then restart the site",
    logged=True,
)
ZONE_UNKNOWN = Code(
    "IST-412",
    _WARNING,
    "Rates have a schedule, and this host does not know the time zone that its settings name, so UTC is taken: they"
    " begin at the wrong hour.",
    "correct TZ or /etc/localtime (in a container ISTHMUS_TIME_ZONE), or install tzdata; then restart the site",
    logged=True,
)
NOT_REDUCED = Code(
    "IST-501",
    _WARNING,
    "The data of a forward or export does not get smaller: it is already compressed or encrypted, and the peer knew"
    " hardly any of it.",
    "replicate it unencrypted and uncompressed if you may (the tunnel encrypts it); otherwise nothing is lost",
    logged=True,
    recurs=True,
)
SHAPED = Code(
    "IST-502",
    _WARNING,
    "A configured rate has held data back for half of the last minute or more.",
    "if the line has more to give, raise `rate`, `maximum` or the schedule's `rate`; then `isthmus reload`",
    logged=True,
    recurs=True,
)
WINDOW_LIMITS = Code(
    "IST-503",
    _WARNING,
    "A window or buffer limits the throughput, not the line.",
    "raise what the warning names: for a window `tunnel.window` and `tunnel.memory` at both sites, `tunnel.unacked` at"
    " this one, then `isthmus reload`; or the other host's net.ipv4.tcp_rmem, then restart its site",
    logged=True,
    recurs=True,
)
STORE_SMALL = Code(
    "IST-504",
    _WARNING,
    "The store evicts data that is asked for again soon after.",
    "make `store.size` larger at both sites, then restart them",
    logged=True,
    recurs=True,
)
TURNS = Code(
    "IST-505",
    _WARNING,
    "The arrays wait for an answer each time before they send more, so the round trip limits them.",
    "have the array keep more under way: a deeper queue, longer writes, more volumes at once",
    logged=True,
    recurs=True,
)
STORE_BEHIND = Code(
    "IST-506",
    _WARNING,
    "A peer's store reads more slowly than the line carries, so part of what the peer holds is sent all the same."
    " Disks are that slow when data comes in another order than it was stored in.",
    "at the peer's site, put the store on a faster disk (an SSD); otherwise nothing is lost",
    logged=True,
    recurs=True,
)

CODES: tuple[Code, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Code))
"""In the order of the table."""
_BY_NAME = {code.code: code for code in CODES}


def code_named(name: str) -> Code:
    """The code with that name, such as "IST-101". Raises KeyError."""
    return _BY_NAME[name]
