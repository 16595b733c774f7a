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

    def __str__(self) -> str:
        return self.code


_INFO, _WARNING, _ERROR = Severity.INFO, Severity.WARNING, Severity.ERROR

TUNNEL_UP = Code("IST-101", _INFO, "The tunnel to a peer has come up.")
TUNNEL_DOWN = Code(
    "IST-102",
    _ERROR,
    "The last lane to a peer is lost, or none has come up. Arrays' connections rest for `tunnel.grace`.",
    "see the peer's last error; `isthmus doctor` on both hosts names what keeps them apart",
)
RESUMED = Code("IST-103", _INFO, "After an outage the streams went on where they had stopped.")
STREAMS_RESET = Code(
    "IST-104",
    _ERROR,
    "Streams were reset because the outage lasted longer than `tunnel.grace`, or the peer ended or began anew.",
    "the arrays connect again and repeat what has no status; raise `tunnel.grace` if outages last longer",
)
FLAPPING = Code(
    "IST-105",
    _WARNING,
    "The tunnel was lost three times or more within ten minutes, and not because the peer ended in order.",
    "have the line checked; the lanes' loss and round trip are in the status; but where the log says each time that a"
    " site has lost its side of the tunnel, a site dies again and again, or two run with one key: stop the wrong one",
)
LANE_SILENT = Code(
    "IST-106",
    _WARNING,
    "Nothing is heard on a lane; others carry on.",
    "none if it lasts seconds; otherwise have the line checked",
)
LOSSY = Code(
    "IST-107",
    _WARNING,
    "More than 5 % of what a lane sent in a minute, of half a megabyte at least, had to be sent again. It is over at"
    " less than 3 %.",
    "have the line checked; use BBR (`modprobe tcp_bbr`), which bears loss, where a lane does not yet",
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
    "The peer lacked so much of what was referred to, or what both stores have lost, that data goes as literals for a "
    "while.",
    "none if a store was wiped or damaged, or the peer's is much smaller; otherwise make both stores the same size",
)
SHORT_PACKETS = Code(
    "IST-110",
    _WARNING,
    "Packets of full size are lost on the way to a peer, so short ones are sent.",
    "let ICMP pass on that way, or lower the MTU, then `isthmus reload`",
)
OTHER_CONGESTION_CONTROL = Code(
    "IST-111",
    _WARNING,
    "The kernel does not do the congestion control that `tunnel.congestion_control` asks for.",
    '`modprobe` it, allow it to this user, or write "auto"',
)
EXPORT_UNREACHABLE = Code(
    "IST-112",
    _ERROR,
    "The array behind an export cannot be reached, so connections to it are reset at once. Both sites tell it. It is"
    " over when one succeeds, or ten minutes after the last attempt.",
    "at the export's site: `isthmus doctor` tries it; start the array's target, or correct the export's `address` and"
    " restart the site",
)
NOT_EXPORTED = Code(
    "IST-113",
    _ERROR,
    "A forward asks for what the other site does not export to this one, so its connections are reset at once. Both"
    " sites tell it. It is over when one succeeds, or ten minutes after the last attempt.",
    "make the forward's `export` at one site, and `name`, `peers` and `range` of the export at the other agree; restart"
    " the site that was changed",
)
PEER_DRAINS = Code(
    "IST-114",
    _INFO,
    "A peer drains: it takes no new connection, so those are reset at once, and ends when its streams have.",
    "none if it is restarted; otherwise start it again when it has ended",
)
REFUSED = Code(
    "IST-201",
    _WARNING,
    "A connection to the tunnel listener was refused.",
    "if it is a peer: compare certificates with `isthmus check` on both hosts; the log has the address and the reason",
    floods=True,
)
CERTIFICATE_ENDS = Code(
    "IST-202",
    _WARNING,
    "A certificate ends within 30 days.",
    "make a new one (`isthmus keygen` for a site's own), give it to who pins it, and `isthmus reload`",
    logged=True,
)
CERTIFICATE_ENDED = Code(
    "IST-203",
    _ERROR,
    "A certificate has ended: no new lane comes up with it.",
    "make a new one now, give it to who pins it, and `isthmus reload`",
    logged=True,
)
RELOAD_FAILED = Code(
    "IST-204",
    _ERROR,
    "New certificates or tokens cannot be used; the old ones stay in use.",
    "correct the file that is named, and `isthmus reload`",
)
RELOADED = Code("IST-205", _INFO, "Certificates, keys, pins and tokens were read anew.")
STORE_ALARM = Code(
    "IST-301",
    _ERROR,
    "The store has a trouble; traffic goes on, perhaps unlearned.",
    "make sure that its disk works and has room",
    logged=True,
)
STORE_WELL = Code("IST-302", _INFO, "The store's trouble is over.", logged=True)
STORE_SET_ASIDE = Code(
    "IST-303",
    _ERROR,
    "The store on disk could not be trusted: it was set aside, and an empty one took its place. It is over when the"
    " copy has been deleted.",
    "see what happened to the disk, then delete the copy that was set aside; the new store warms up by itself",
    logged=True,
)
CHUNKS_DROPPED = Code(
    "IST-304",
    _ERROR,
    "Chunks of the store here failed verification. They were dropped and fetched anew; nothing wrong was delivered.",
    "test the disk and the memory of this host",
    logged=True,
)
UNLEARNED = Code(
    "IST-305",
    _WARNING,
    "Data passes without being stored, for want of room or of a disk that keeps up.",
    "see to the disk; it will have to cross the line again",
    logged=True,
)
STARTED = Code("IST-401", _INFO, "The site has started.")
DRAINING = Code("IST-402", _INFO, "The site drains: it accepts nothing new and ends when its streams have.")
CONFIGURATION_CHANGED = Code("IST-403", _INFO, "The site's file is another one than at its last start.")
HISTORY_IN_MEMORY = Code(
    "IST-404",
    _WARNING,
    "History and events are kept in memory only: a restart forgets them.",
    "make room on its disk, or name a file that can be written in `status.history`",
    logged=True,
)
HISTORY_SET_ASIDE = Code(
    "IST-405",
    _WARNING,
    "The file of the history is damaged, or another release's; it was set aside, and an empty one took its place.",
    "if it is damaged, see what happened to the disk; then delete the copy",
    logged=True,
)
ACCESS_DENIED = Code(
    "IST-406",
    _WARNING,
    "Requests to the status listener had no token or a wrong one, or came from pages of other sites.",
    "if it is a program of yours: give it the token; otherwise see who can reach the listener",
    floods=True,
)
CONTROLLED = Code("IST-407", _INFO, "Somebody used the control right: drain or reload.")
BUSY = Code(
    "IST-408",
    _WARNING,
    "This process works more than 90 % of the time.",
    "a faster core; take other programs off the host",
)
STOOD_STILL = Code(
    "IST-409",
    _WARNING,
    "This process stood still for more than 5 s. What is told of lanes and of peers just then comes from that.",
    "see whether the host was suspended, moved or copied, or is out of memory; it is not the line",
    logged=True,
)
NOT_REDUCED = Code(
    "IST-501",
    _WARNING,
    "A forward's data does not reduce: it is compressed or encrypted already, and does not repeat.",
    "replicate it unencrypted and uncompressed if it may be, for the tunnel encrypts; otherwise nothing is lost",
)
SHAPED = Code(
    "IST-502",
    _WARNING,
    "A configured rate holds data back for most of the time.",
    "raise `rate`, `maximum` or the schedule, if the line has more to give, then restart the site",
)
WINDOW_LIMITS = Code(
    "IST-503",
    _WARNING,
    "A window or buffer limits the throughput, not the line.",
    "raise what the words name: `tunnel.window`, `memory` or `unacked`, then restart the site; or the hosts' tcp_rmem"
    " and tcp_wmem",
)
STORE_SMALL = Code(
    "IST-504",
    _WARNING,
    "The store replaces data that is asked for again soon after.",
    "make `store.size` larger at both sites, then restart them",
)
TURNS = Code(
    "IST-505",
    _WARNING,
    "The arrays wait for an answer before they send more.",
    "have the array keep more under way: a deeper queue, longer writes, more volumes at once",
)
STORE_BEHIND = Code(
    "IST-506",
    _WARNING,
    "A peer's store gives what is referred to so slowly that the line has room for more, so part of what both sites"
    " hold goes literally. Disks are that slow where data comes in another order than it was stored in.",
    "at the peer's site: put the store on a faster disk, an SSD; otherwise nothing is lost",
)

CODES: tuple[Code, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Code))
"""In the order of the table."""
_BY_NAME = {code.code: code for code in CODES}


def code_named(name: str) -> Code:
    """The code with that name, such as "IST-101". Raises KeyError."""
    return _BY_NAME[name]
