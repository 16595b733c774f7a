"""Congestion control, window scaling, MTU probing: each finding with its remedy."""

from dataclasses import replace

import pytest

from proxy.config.model import Tunnel
from proxy.doctor.facts import Kernel
from proxy.doctor.findings import Finding, Level
from proxy.doctor.kernel import congestion, probing, tuning
from tests.unit.doctor.conftest import KERNEL

CUBIC = replace(KERNEL, default="cubic")


def congestion_of(
    kernel: Kernel, wanted: str = "auto", *, lanes: int | str = "auto", privileged: bool = False
) -> Finding:
    settings = Tunnel.model_validate({"congestion_control": wanted, "lanes": lanes})
    return congestion(kernel, settings, privileged=privileged)


def test_bbr_by_default() -> None:
    finding = congestion_of(KERNEL)
    assert (finding.level, finding.found, finding.remedy) == (Level.OK, "bbr is this kernel's default", "")


@pytest.mark.parametrize(("allowed", "privileged"), [(("reno", "bbr"), False), (("reno",), True)])
def test_bbr_that_the_site_may_choose(allowed: tuple[str, ...], privileged: bool) -> None:
    finding = congestion_of(replace(CUBIC, allowed=allowed), privileged=privileged)
    assert finding.level is Level.OK
    assert finding.found == "bbr is there, and the site may choose it (the default is cubic)"


@pytest.mark.parametrize(("wanted", "level"), [("auto", Level.ATTENTION), ("bbr", Level.PROBLEM)])
def test_bbr_that_only_root_may_choose(wanted: str, level: Level) -> None:
    finding = congestion_of(replace(CUBIC, allowed=("reno", "cubic")), wanted)
    assert finding.level is level
    assert finding.found.startswith("bbr is there, but only root may choose it; the tunnel uses cubic")
    command = "printf '%s\\n' 'net.ipv4.tcp_allowed_congestion_control = reno cubic bbr' >>"
    assert finding.remedy.startswith(f"first this, then `isthmus reload`, if the site runs: {command}")


@pytest.mark.parametrize("wanted", ["auto", "bbr"])
def test_bbr_that_is_not_loaded(wanted: str) -> None:
    finding = congestion_of(replace(CUBIC, available=("reno", "cubic"), modules=("bbr", "vegas")), wanted)
    assert finding.level is Level.ATTENTION
    assert finding.found.startswith("bbr is not loaded, it has reno, cubic")
    command = "modprobe tcp_bbr; and for the next start: echo tcp_bbr > /etc/modules-load.d/"
    assert finding.remedy.startswith(f"first this, then `isthmus reload`, if the site runs: {command}")


def test_a_kernel_without_bbr() -> None:
    finding = congestion_of(replace(CUBIC, available=("reno", "cubic")))
    assert finding.level is Level.ATTENTION
    assert finding.found.startswith("this kernel has no bbr, it has reno, cubic")
    assert "CONFIG_TCP_CONG_BBR" in finding.remedy


@pytest.mark.parametrize(
    ("lanes", "instead"),
    [("auto", "several lanes where packets are lost"), (2, "slow where packets are lost, on 2 lanes")],
)
def test_what_the_tunnel_does_without_bbr(lanes: int | str, instead: str) -> None:
    assert congestion_of(replace(CUBIC, available=("reno", "cubic")), lanes=lanes).found.endswith(instead)


def test_one_that_was_asked_for_and_is_not_there() -> None:
    finding = congestion_of(KERNEL, "hybla")
    assert finding.level is Level.PROBLEM
    assert finding.remedy.endswith('congestion_control = "auto" in [tunnel]')


def test_one_that_was_asked_for_and_is_there() -> None:
    assert congestion_of(KERNEL, "cubic").level is Level.OK


def test_a_kernel_that_says_nothing() -> None:
    finding = congestion_of(replace(KERNEL, available=None))
    assert (finding.level, bool(finding.remedy)) == (Level.ATTENTION, True)


@pytest.mark.parametrize(
    ("spoilt", "setting"),
    [
        (replace(KERNEL, scaling=False), "net.ipv4.tcp_window_scaling = 1"),
        (replace(KERNEL, tuning=False), "net.ipv4.tcp_moderate_rcvbuf = 1"),
    ],
)
def test_what_keeps_windows_small(spoilt: Kernel, setting: str) -> None:
    (finding,) = tuning(spoilt)
    assert finding.level is Level.PROBLEM
    assert finding.remedy.endswith(f"'{setting}' >> /etc/sysctl.d/91-isthmus-local.conf; sysctl --system")
    assert ("then restart the site" in finding.remedy) is (spoilt.scaling is False)
    assert list(tuning(KERNEL)) == list(tuning(replace(KERNEL, scaling=None, tuning=None))) == []


@pytest.mark.parametrize(
    ("setting", "proven", "level"),
    [
        (0, False, Level.ATTENTION),
        (0, True, Level.OK),
        (1, False, Level.OK),
        (2, True, Level.OK),
    ],
)
def test_probing(setting: int, proven: bool, level: Level) -> None:
    (finding,) = probing(replace(KERNEL, probing=setting), proven=proven)
    assert finding.level is level
    assert ("net.ipv4.tcp_mtu_probing = 1" in finding.remedy) == (level is Level.ATTENTION)
    assert list(probing(replace(KERNEL, probing=None), proven=proven)) == []
