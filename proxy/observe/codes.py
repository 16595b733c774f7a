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
    "The last lane to a peer is lost, or none has come up. The arrays' connections are held for `tunnel.grace`.",
    "see the peer's last error; `isthmus doctor` on both hosts says what keeps them apart",
)
RESUMED = Code("IST-103", _INFO, "After an outage, the streams went on where they had stopped.")
STREAMS_RESET = Code(
    "IST-104",
    _ERROR,
    "Streams were reset because the outage lasted longer than `tunnel.grace`, or because the peer ended or was"
    " restarted.",
    "the arrays connect again and repeat what has no status; raise `tunnel.grace` if outages last longer",
)
FLAPPING = Code(
    "IST-105",
    _WARNING,
    "The tunnel was lost three times or more within ten minutes, and not because the peer ended in order.",
    "have the line checked (the status has the lanes' loss and round trip). If the log says each time that a site"
    " has lost its side of the tunnel, a site dies again and again, or two sites run with one key: stop the wrong"
    " one",
)
LANE_SILENT = Code(
    "IST-106",
    _WARNING,
    "Nothing is heard on one lane; the others carry on.",
    "none if it lasts seconds; otherwise have the line checked",
)
LOSSY = Code(
    "IST-107",
    _WARNING,
    "More than 5 % of what a lane sent in a minute had to be sent again (if it sent half a megabyte or more). It"
    " is over when less than 3 % is.",
    "have the line checked; where a lane does not use BBR yet, which tolerates loss, enable it (`modprobe tcp_bbr`),"
    " then restart the site",
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
    "The peer lacked much of what was referred to, or both stores have lost it, so data is sent as literals for a"
    " while.",
    "nothing to do if a store was wiped or damaged; if the peer's is smaller, give it this one's `store.size`, and"
    " restart that site",
    logged=True,
    recurs=True,
)
SHORT_PACKETS = Code(
    "IST-110",
    _WARNING,
    "Packets of full size are lost on the way to a peer, so short ones are sent.",
    "let ICMP pass on that path, or lower the MTU; then `isthmus reload`",
    logged=True,
)
OTHER_CONGESTION_CONTROL = Code(
    "IST-111",
    _WARNING,
    "The kernel does not offer the congestion control that `tunnel.congestion_control` asks for.",
    '`modprobe` it, allow it to this user, or write "auto"; then restart the site',
    logged=True,
)
EXPORT_UNREACHABLE = Code(
    "IST-112",
    _ERROR,
    "The array behind an export cannot be reached, so connections to it are reset at once. Both sites report it."
    " It is over when a connection succeeds, or ten minutes after the last attempt.",
    "at the export's site: `isthmus doctor` tries it; start the array's target, or correct the export's `address` and"
    " restart the site",
)
NOT_EXPORTED = Code(
    "IST-113",
    _ERROR,
    "A forward asks for something that the other site does not export to this one, so its connections are reset"
    " at once. Both sites report it. It is over when a connection succeeds, or ten minutes after the last"
    " attempt.",
    "make the forward's `export` at one site agree with `name`, `peers` and `range` of the export at the other;"
    " restart the site that was changed",
)
PEER_DRAINS = Code(
    "IST-114",
    _INFO,
    "A peer drains: it takes no new connections, so they are reset at once, and it ends when its streams have ended.",
    "none if it is being restarted; otherwise start it again when it has ended",
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
    "A certificate expires within 30 days.",
    "make a new one (`isthmus keygen` for a site's own), give it to the sites that pin it, and `isthmus reload`",
    logged=True,
)
CERTIFICATE_ENDED = Code(
    "IST-203",
    _ERROR,
    "A certificate has expired: no new lane comes up with it.",
    "if this host's clock is right, make a new one now, give it to the sites that pin it, and `isthmus reload`",
    logged=True,
)
RELOAD_FAILED = Code(
    "IST-204",
    _ERROR,
    "New certificates or tokens cannot be used; the old ones stay in use.",
    "correct the file that is named, and `isthmus reload`",
)
RELOADED = Code("IST-205", _INFO, "Certificates, keys, pins and tokens were read again.")
STORE_ALARM = Code(
    "IST-301",
    _ERROR,
    "The store has a problem; traffic goes on, but perhaps nothing is stored. It looks by itself whether its disk works"
    " and has room again: soon at first, in the end once an hour, and at each start.",
    "make sure that its disk works and has room",
    logged=True,
)
STORE_WELL = Code("IST-302", _INFO, "The store has had no problem for a minute.", logged=True)
STORE_SET_ASIDE = Code(
    "IST-303",
    _ERROR,
    "The store on disk could not be trusted: it was set aside, and an empty one took its place. This is over"
    " within a minute when the copy has been deleted.",
    "see what happened to the disk, then delete the copy that was set aside; the new store warms up by itself",
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
    "see to the disk; until then that data has to cross the line again",
    logged=True,
)
STARTED = Code("IST-401", _INFO, "The site has started.")
DRAINING = Code("IST-402", _INFO, "The site drains: it accepts nothing new, and ends when its streams have ended.")
CONFIGURATION_CHANGED = Code("IST-403", _INFO, "The site's file has changed since its last start.", logged=True)
HISTORY_IN_MEMORY = Code(
    "IST-404",
    _WARNING,
    "History and events are kept in memory only: they are lost at a restart.",
    "make room on its disk, or have `status.history` name a file that can be written",
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
    "Requests to the status listener had no token or a wrong one, or came from pages of other sites.",
    "if it is a program of yours: give it the token; otherwise see who can reach the listener",
    floods=True,
    logged=True,
)
CONTROLLED = Code("IST-407", _INFO, "Somebody used the control right: drain or reload.")
BUSY = Code(
    "IST-408",
    _WARNING,
    "This process is busy more than 90 % of the time.",
    "use a faster core, or move other programs off the host",
    logged=True,
    recurs=True,
)
STOOD_STILL = Code(
    "IST-409",
    _WARNING,
    "This process stood still for more than 5 s. What was reported of lanes and peers at that time comes from this.",
    "see whether the host was suspended, moved or copied, or is out of memory; it is not the line",
    logged=True,
)
NOT_REDUCED = Code(
    "IST-501",
    _WARNING,
    "A forward's data does not get smaller: it is already compressed or encrypted, and hardly any of it was known.",
    "replicate it unencrypted and uncompressed if you may (the tunnel encrypts it); otherwise nothing is lost",
    logged=True,
    recurs=True,
)
SHAPED = Code(
    "IST-502",
    _WARNING,
    "A configured rate holds data back most of the time.",
    "if the line has more to give, raise `rate`, `maximum` or the schedule; then restart the site",
    logged=True,
    recurs=True,
)
WINDOW_LIMITS = Code(
    "IST-503",
    _WARNING,
    "A window or buffer limits the throughput, not the line.",
    "raise what the warning names: a window by `tunnel.window` and `memory` at both sites, or `unacked` at this one,"
    " or the other host's tcp_rmem; then restart the site where that was done",
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
    "The arrays wait for an answer before they send more.",
    "have the array keep more under way: a deeper queue, longer writes, more volumes at once",
    logged=True,
    recurs=True,
)
STORE_BEHIND = Code(
    "IST-506",
    _WARNING,
    "A peer's store reads what is referred to so slowly that the line has room for more, so part of what both"
    " sites hold is sent as literals. Disks are that slow when data comes in another order than it was stored in.",
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
