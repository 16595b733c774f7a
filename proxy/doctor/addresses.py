"""The site itself at its listen addresses, and the arrays behind exports."""

import errno

from proxy.config.addresses import Address
from proxy.config.model import Export, Forward
from proxy.doctor.facts import Bound, Contact, Reach, Running
from proxy.doctor.findings import Finding, ok, problem
from proxy.doctor.wording import sysctl
from proxy.figures import milliseconds

SITE = "running site"


def silence(process: int, told: str, *, hangs: bool) -> Finding:
    """The site seems to run, but gives no status. `process`: its number, or 0; `told`: what became of asking.

    `hangs`: somebody takes connections and says nothing. Otherwise it may start or end just now, or refuse this user.
    """
    if not process:
        return problem(SITE, told, "if it is this site, end it (at last by kill -KILL) and start it again")
    found = f"it seems to run as process {process} and does not answer: {told}"
    if hangs:
        return problem(
            SITE, found, f"see its log and its disk; if it stays so, kill -KILL {process} and start it again"
        )
    return problem(SITE, found, "run this again in some seconds, as the site's user; its log says more")


def listener(about: str, key: str, address: Address, bound: Bound, running: Running) -> Finding:
    """`key`: what to change in the file; `running`: whether the site should have the address itself."""
    if bound.error == errno.EADDRINUSE:
        return _in_use(about, key, address, running)
    if bound.error == errno.EADDRNOTAVAIL:
        return problem(about, f"{address} is not an address of this host", _of_this_host(key, address))
    if bound.error in (errno.EACCES, errno.EPERM):
        below = sysctl(f"net.ipv4.ip_unprivileged_port_start = {address.port}")
        others = f"or give all users of this host those from {address.port} on: {below}"
        remedy = f"use a port from 1024 on as {key}; {others}"
        return problem(about, f"{address} may not be used by this user: {bound.words}", remedy)
    if bound.error:
        return problem(about, f"{address} cannot be used: {bound.words}", f"write another address as {key}")
    if running is Running.ANSWERS:
        found = f"the running site does not listen on {address}: the file was changed since it started"
        return problem(about, found, "isthmus reload" if key == "forward.listen" else "restart the site")
    return ok(about, f"{address} is free")


def _of_this_host(key: str, address: Address) -> str:
    remedy = f"write an address that `ip address` lists as {key}"
    if key == "status.listen":  # to listen on all takes TLS and tokens besides
        return remedy
    return f"{remedy}, or {Address('::' if ':' in address.host else '0.0.0.0', address.port)} for all"


def _in_use(about: str, key: str, address: Address, running: Running) -> Finding:
    if running is Running.ANSWERS:
        return ok(about, f"{address} is in use, by the running site")
    if running is Running.SILENT:
        return ok(about, f"{address} is in use, it seems by the site that does not answer")
    # Not -l: a port may also be that of a connection that a program has made.
    remedy = f"ss -tanp 'sport = :{address.port}' says by whom: stop that, or write another port as {key}"
    return problem(about, f"{address} is in use by another program", remedy)


def export(name: str, address: Address, reach: Reach) -> Finding:
    """Does the array answer at TCP?"""
    about = f"export {name}"
    if reach.contact is Contact.ACCEPTED:
        return ok(about, f"{address} accepts connections{_in(reach)}")
    remedies = {
        Contact.NO_NAME: f"correct export.address, or the name server: getent hosts {address.host}",
        Contact.REFUSED: f"start the array's target there, or correct export.address; nothing listens on {address}",
        Contact.TIMEOUT: f"see that the array is up and that no firewall drops: ip route get {address.host}",
    }
    found = f"{address}: {reach.contact.value}{f' ({reach.detail})' if reach.detail else ''}"
    return problem(about, found, remedies.get(reach.contact, f"see the route to it: ip route get {address.host}"))


def loop(export: Export, forward: Forward) -> Finding:
    """An export with an address of this host, on which a forward listens because it listens on all."""
    leads = f"forward {forward.name} ({forward.listen}) listens there, and leads on to a peer"
    found = f"{export.address} is this host itself: {leads}"
    return problem(f"export {export.name}", found, "write the array's own address as export.address")


def _in(reach: Reach) -> str:
    return "" if reach.round_trip is None else f", {milliseconds(reach.round_trip)} away"
