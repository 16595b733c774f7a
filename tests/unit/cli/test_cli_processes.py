"""Which processes serve a site: any user may call one so, and name what he likes."""

from pathlib import Path

from proxy.cli.processes import serving
from tests.unit.cli.called import called_as_a_site


def test_a_process_that_names_a_link_to_itself_is_in_nobodys_way(tmp_path: Path) -> None:
    """doctor and support-bundle ended by it, as by a defect, whoever had begun it."""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "east.toml").touch()
    (tmp_path / "link").symlink_to("east.toml")
    with called_as_a_site(tmp_path, "loop") as odd, called_as_a_site(tmp_path, "link") as site:
        assert [found.name for found in serving(tmp_path / "east.toml")] == [site]
        assert [found.name for found in serving(tmp_path / "loop")] == [odd]
