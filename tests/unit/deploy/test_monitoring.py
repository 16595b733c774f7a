"""Alert rules and dashboard: every metric that they name is there, Prometheus takes them, and alerts come when due."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[3] / "deploy"
MONITORING = DEPLOY / "monitoring"
RULES = MONITORING / "rules.yml"
DASHBOARD = MONITORING / "grafana" / "dashboards" / "isthmus.json"
DASHBOARD_VARIABLES = {"$__rate_interval": "5m", "$__range": "1h", "$site": ".*", "$peer": ".*"}
SUFFIXES = ("_bucket", "_sum", "_count")
"""Of the series of a histogram."""


@pytest.fixture
def promtool() -> str:
    if not (found := shutil.which("promtool")):
        pytest.skip("not installed: promtool (Debian: package prometheus)")
    return found


def check(*command: str, directory: Path | None = None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=directory)
    assert done.returncode == 0, done.stdout + done.stderr


def expressions() -> list[str]:
    """Of the dashboard, with its variables filled in."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    found = [target["expr"] for panel in panels for target in panel["targets"]]
    for name, value in DASHBOARD_VARIABLES.items():
        found = [expression.replace(name, value) for expression in found]
    return found


def documented() -> set[str]:
    """Names of METRICS.md, which a test of its own keeps true."""
    return set(re.findall(r"^\| `(isthmus_\w+)`", (DEPLOY / "METRICS.md").read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", [RULES, DASHBOARD], ids=lambda path: path.name)
def test_every_metric_is_there(path: Path) -> None:
    named = set(re.findall(r"\bisthmus_[a-z_]+\b", path.read_text()))
    known = documented()
    missing = {name for name in named if not {name, *(name.removesuffix(suffix) for suffix in SUFFIXES)} & known}
    assert named
    assert not missing


def test_prometheus_takes_the_configuration(promtool: str, tmp_path: Path) -> None:
    for name in ("prometheus.yml", "rules.yml"):
        shutil.copy(MONITORING / name, tmp_path)
    check(promtool, "check", "config", "prometheus.yml", directory=tmp_path)
    shutil.copy(DEPLOY / "lab" / "prometheus.yml", tmp_path)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "west.token.prometheus").write_text("0123456789abcdef\n")  # the lab's `keys` makes one
    check(promtool, "check", "config", "prometheus.yml", directory=tmp_path)


def test_alerts_come_when_due(promtool: str, tmp_path: Path) -> None:
    shutil.copy(RULES, tmp_path)
    shutil.copy(Path(__file__).with_name("rules_test.yml"), tmp_path)
    check(promtool, "test", "rules", "rules_test.yml", directory=tmp_path)


def test_prometheus_takes_the_dashboards_expressions(promtool: str, tmp_path: Path) -> None:
    rules = [{"record": f"panel:{number}", "expr": each} for number, each in enumerate(expressions())]
    path = tmp_path / "panels.yml"
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))  # JSON is YAML
    check(promtool, "check", "rules", str(path))


def test_a_volume_is_told_apart_at_each_site() -> None:
    """Latency at the initiator's site has the line in it, at the target's not: of both together it means nothing."""
    of_volumes = [each for each in expressions() if "isthmus_volume_" in each]
    assert of_volumes
    for expression in of_volumes:
        (kept,) = re.findall(r"sum by \(([^)]*)\)", expression)
        assert {"instance", "share", "target", "unit"} <= set(kept.split(", "))


def test_every_alert_is_explained() -> None:
    alerts = re.findall(r"- alert: (\w+)", RULES.read_text())
    explained = re.findall(r"^\| (Isthmus\w+) \|", (DEPLOY / "OPERATIONS.md").read_text(), re.MULTILINE)
    assert sorted(alerts) == sorted(explained)


SAVED = {
    "east": (1e9, 0.2e9, 0.21e9, 0.01e9, 0.0),
    "west": (2e3, 2e3, 30e6, 0.0, 1e9),
}
"""Of a site that sends and one that receives: plain bytes, compressed, on the line, sent again, delivered; a minute."""
SENT = (
    "isthmus_sent_raw_bytes_total",
    "isthmus_sent_compressed_bytes_total",
    "isthmus_sent_wire_bytes_total",
    "isthmus_sent_retransmitted_bytes_total",
    "isthmus_delivered_bytes_total",
)


@pytest.mark.parametrize(("site", "saved"), [("east|west", 0.78), ("east", 0.78), ("west", None)])
def test_what_was_saved_is_of_what_was_sent(promtool: str, tmp_path: Path, site: str, saved: float | None) -> None:
    """Acknowledgements of what a site received are no price of the few bytes that its arrays gave: -1,499,900 %."""
    (panel,) = (each for each in json.loads(DASHBOARD.read_text())["panels"] if each["title"] == "Saved")
    expression = panel["targets"][0]["expr"]
    for name, value in (DASHBOARD_VARIABLES | {"$site": site}).items():
        expression = expression.replace(name, value)
    series = [
        {"series": f'{name}{{instance="{site}", peer="other"}}', "values": f"0+{rise:.0f}x90"}
        for site, rises in SAVED.items()
        for name, rise in zip(SENT, rises, strict=True)
    ]
    told = [] if saved is None else [{"labels": "{}", "value": saved}]
    asked = {"expr": f"round({expression}, 0.01)", "eval_time": "80m", "exp_samples": told}
    test = {"interval": "1m", "input_series": series, "promql_expr_test": [asked]}
    (tmp_path / "saved.yml").write_text(json.dumps({"rule_files": [], "tests": [test]}))
    check(promtool, "test", "rules", "saved.yml", directory=tmp_path)
