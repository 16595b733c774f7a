"""What the kernel does with TCP, judged without knowing the line: congestion control, window scaling, MTU probing."""

from collections.abc import Iterator

from proxy.config.model import Tunnel
from proxy.doctor.facts import Kernel
from proxy.doctor.findings import Finding, attention, ok, problem
from proxy.doctor.wording import THEN_RELOAD, THEN_RESTART, sysctl

CONGESTION = "congestion control"
BUFFERS = "socket buffers"
PROBING = "MTU probing"


def congestion(kernel: Kernel, settings: Tunnel, *, privileged: bool) -> Finding:
    """Of the tunnel's lanes. `privileged`: the site may choose what others may not."""
    if kernel.available is None:
        remedy = "on Linux, mount /proc; on others see which congestion control TCP uses"
        return attention(CONGESTION, "the kernel does not say which it has", remedy)
    wanted = settings.congestion_control
    name = "bbr" if wanted == "auto" else wanted
    if kernel.default == name:
        return ok(CONGESTION, f"{name} is this kernel's default")
    if name not in kernel.available:
        return _missing(kernel, settings, name)
    if privileged or name in (kernel.allowed or ()):
        return ok(CONGESTION, f"{name} is there, and the site may choose it (the default is {kernel.default})")
    return _not_allowed(kernel, settings, name)


def _missing(kernel: Kernel, settings: Tunnel, name: str) -> Finding:
    has = f"it has {', '.join(kernel.available or ())}"
    if name in kernel.modules:
        load = f"modprobe tcp_{name}; and for the next start: echo tcp_{name} > /etc/modules-load.d/isthmus.conf"
        found = f"{name} is not loaded, {has}; {_instead(kernel, settings)}"
        return attention(CONGESTION, found, f"{THEN_RELOAD}: {load}")
    found = f"this kernel has no {name}, {has}; {_instead(kernel, settings)}"
    if settings.congestion_control == "auto":
        return attention(CONGESTION, found, "use a kernel with CONFIG_TCP_CONG_BBR (any distribution's since 2017)")
    return problem(CONGESTION, found, 'use a kernel with it, or congestion_control = "auto" in [tunnel]')


def _not_allowed(kernel: Kernel, settings: Tunnel, name: str) -> Finding:
    allowed = " ".join([*(kernel.allowed or ()), name])
    remedy = f"{THEN_RELOAD}: {sysctl(f'net.ipv4.tcp_allowed_congestion_control = {allowed}')}"
    found = f"{name} is there, but only root may choose it; {_instead(kernel, settings)}"
    return (attention if settings.congestion_control == "auto" else problem)(CONGESTION, found, remedy)


def _instead(kernel: Kernel, settings: Tunnel) -> str:
    """What a site does then, on a line that loses packets (`isthmus plan` has the figures)."""
    if settings.lanes is None:
        return f"the tunnel uses {kernel.default}, and several lanes where packets are lost"
    return f"the tunnel uses {kernel.default}, slow where packets are lost, on {settings.lanes} lanes"


def tuning(kernel: Kernel) -> Iterator[Finding]:
    """Without these two no buffer limit helps."""
    if kernel.scaling is False:
        found = "window scaling is off: no window is larger than 64 KiB"
        yield problem(BUFFERS, found, f"{THEN_RESTART}: {sysctl('net.ipv4.tcp_window_scaling = 1')}")
    if kernel.tuning is False:
        found = "receive buffers do not grow by themselves"
        yield problem(BUFFERS, found, sysctl("net.ipv4.tcp_moderate_rcvbuf = 1"))


def probing(kernel: Kernel, *, proven: bool) -> Iterator[Finding]:
    """Does TCP notice that large packets vanish? `proven`: now, they pass on the way to all peers."""
    if kernel.probing is None:
        return
    if kernel.probing:
        yield ok(PROBING, "on: TCP notices if large packets vanish on the way")
    elif proven:
        yield ok(PROBING, "off, and not needed now: packets of full size reach all peers that are dialled")
    else:
        found = "off: if a router drops large packets and its ICMP is filtered, the tunnel stalls"
        yield attention(PROBING, found, sysctl("net.ipv4.tcp_mtu_probing = 1"))
