"""Commands as an operator types them."""

import subprocess

from proxy.doctor.wording import sysctl


def test_a_command_writes_one_setting_a_line() -> None:
    write, _, apply = sysctl("a = 1 2", "b = 3").partition(" >> /etc/sysctl.d/91-isthmus-local.conf; ")
    assert apply == "sysctl --system"
    written = subprocess.run(["sh", "-c", write], capture_output=True, text=True, check=True).stdout
    assert written == "a = 1 2\nb = 3\n"
