"""Which package may import which, with the reason beside each rule (ARCHITECTURE.md, "The house")."""

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, parsed, statements

OURS = ("bench", "dedupstore", "proxy")

# Errors, figures and text fit for a log line, files written whole, threads that nobody waits for and counts of
# descriptors stand below everything; they import nothing of ours.
LEAVES = {f"proxy.{name}" for name in ("aside", "descriptors", "errors", "figures", "files", "hosts", "text")}

# Both listeners need it; whoever feeds bytes by hand does not.
TLS = {"proxy.bounded_tls"}

MAY_IMPORT = {
    # The store is a library of its own: it can be used, tested and replaced without the proxy.
    "dedupstore": {"dedupstore"},
    # Without I/O and without the store, every state of a tunnel can be reached by a test that only feeds bytes.
    "proxy.protocol": {"proxy.protocol"} | LEAVES,
    "proxy.iscsi": {"proxy.iscsi"} | LEAVES,
    # Reduction knows what bytes mean, not where they come from or go to.
    "proxy.reduction": {"proxy.reduction", "proxy.iscsi", "proxy.errors", "dedupstore"},
    # Figures are plain values; whoever counts imports them, they import nobody who counts.
    "proxy.observe": {"proxy.observe", "proxy.plan"} | LEAVES,
    # Pages read snapshots, so no request can touch a tunnel; who asks is judged by a token.
    "proxy.web": {"proxy.web", "proxy.observe", "proxy.identity"} | TLS | LEAVES,
    # A thread that writes down what is counted: it knows who counts as little as the event loop.
    "proxy.history": {"proxy.history", "proxy.observe"} | LEAVES,
    # Arithmetic about lines: anybody may use it, it needs nobody.
    "proxy.plan": {"proxy.plan"} | LEAVES,
    # What reduction would save, found with reduction's own means; it reads files, and knows neither sites nor peers.
    "proxy.analysis": {"proxy.analysis", "proxy.reduction", "proxy.plan", "dedupstore"} | LEAVES,
    # Judgement of facts about a host and its peers, and of what a store takes; those who collect facts import those.
    "proxy.doctor": {"proxy.doctor", "proxy.plan", "proxy.config", "proxy.identity", "dedupstore"} | LEAVES,
    "proxy.doctor.facts": {"proxy.doctor.facts"},
    # The one place where everything that moves bytes meets.
    "proxy.net": {
        "proxy.net",
        "proxy.protocol",
        "proxy.reduction",
        "proxy.iscsi",
        "proxy.observe",
        "proxy.history",
        "proxy.doctor.facts",
        "proxy.config",
        "proxy.identity",
        "proxy.log",
        "dedupstore",
    }
    | TLS
    | LEAVES,
    # Settings, keys and logs are read by all of the above, so they may know none of them; checking settings means
    # looking into the certificates and keys that they name.
    "proxy.config": {"proxy.config", "proxy.identity"} | LEAVES,
    "proxy.identity": {"proxy.identity"} | LEAVES,
    "proxy.log": {"proxy.log", "proxy.log_writer"} | LEAVES,
    "proxy.log_writer": {"proxy.log_writer"},
    # A new site's files are written for the configuration to read, and checked by it.
    "proxy.setup": {"proxy.setup", "proxy.config", "proxy.identity"} | LEAVES,
    "proxy.aside": {"proxy.aside"},
    "proxy.bounded_tls": {"proxy.bounded_tls"},
    "proxy.descriptors": {"proxy.descriptors"},
    "proxy.hosts": {"proxy.hosts"},
    "proxy.errors": {"proxy.errors"},
    "proxy.figures": {"proxy.figures"},
    "proxy.files": {"proxy.files"},
    "proxy.text": {"proxy.text"},
    # The root that puts everything together; the bench only lazily, so that it need not be installed.
    "proxy.cli": {"proxy", "dedupstore", "bench"},
    # The bench uses what a user can use.
    "bench": {"bench", "proxy", "dedupstore"},
}

MEASUREMENTS = tuple(
    f"bench.{name}" for name in ("demo", "pipeline", "viewers", "chunking", "overwan", "overiscsi", "replay", "lab")
)

EVENT_LOOP = {"asyncio", "ssl", "socket", "uvloop", "socketserver", "selectors", "aiohttp"}
"""What makes code depend on an event loop or a peer; only these may import it, so that all else is tested without."""
MAY_KNOW_THE_EVENT_LOOP = ("proxy.net", "proxy.web", "proxy.bounded_tls", "bench")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for package in OURS for path in sorted((ROOT / package).rglob("*.py"))}


def resolve(importer: str, node: ast.ImportFrom) -> str:
    """The absolute name behind a relative import."""
    if not node.level:
        return node.module or ""
    is_package = (ROOT / importer.replace(".", "/") / "__init__.py").exists()
    parts = importer.split(".")
    base = parts[: len(parts) - node.level + is_package]
    return ".".join([*base, node.module] if node.module else base)


def imports_of(importer: str, tree: ast.AST) -> Iterator[str]:
    """Every module that is imported anywhere in the tree; names of `from x import y` as x.y."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{resolve(importer, node)}.{alias.name}" for alias in node.names)


@cache
def imports(module: str) -> tuple[str, ...]:
    """Of one of `MODULES`."""
    return tuple(imports_of(module, parsed(MODULES[module])))


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def rule_for(module: str) -> set[str] | None:
    """The most specific rule; the top of `proxy` (its version and tour) may import nothing of ours."""
    names = [name for name in MAY_IMPORT if within(module, name)]
    return MAY_IMPORT[max(names, key=len)] if names else None


def allowed(target: str, permitted: set[str]) -> bool:
    return target in ("proxy", "proxy.__version__") or any(within(target, package) for package in permitted)


@pytest.mark.parametrize("module", MODULES)
def test_imports_run_downward(module: str) -> None:
    permitted = rule_for(module) if module != "proxy" else set()
    assert permitted is not None, f"{module} has no rule: say in MAY_IMPORT what it may import, and why"
    ours = (target for target in imports(module) if target.split(".")[0] in OURS)
    upward = sorted(target for target in ours if not allowed(target, permitted))
    assert not upward, f"{module} may import only {sorted(permitted)}, but imports {upward}"


@pytest.mark.parametrize("module", [module for module in MODULES if within(module, "bench")])
def test_no_measurement_knows_another(module: str) -> None:
    """What several need is in bench itself, where whoever looks for it finds it."""
    own = next((name for name in MEASUREMENTS if within(module, name)), module)
    others = [target for target in imports(module) for name in MEASUREMENTS if within(target, name) and name != own]
    assert not others, f"{module} imports {others}; move what is shared into bench"


@pytest.mark.parametrize("module", MODULES)
def test_only_net_and_web_know_the_event_loop(module: str) -> None:
    if any(within(module, package) for package in MAY_KNOW_THE_EVENT_LOOP):
        return
    found = {target.split(".")[0] for target in imports(module)} & EVENT_LOOP
    assert not found, f"{module} imports {sorted(found)}; only proxy.net and proxy.web do"


def test_the_bench_is_imported_lazily() -> None:
    """The product starts where the bench's extra is not installed."""
    for module, path in MODULES.items():
        if within(module, "bench"):
            continue
        at_import = ast.Module(
            [node for node in parsed(path).body if isinstance(node, ast.Import | ast.ImportFrom)], []
        )
        assert not [name for name in imports_of(module, at_import) if within(name, "bench")], module


def of_tests(targets: Iterable[str]) -> list[str]:
    """Those that lie in a file of tests."""
    return [target for target in targets if any(part.startswith("test_") for part in target.split(".")[:-1])]


def test_no_test_knows_another() -> None:
    """What two files need is in a module that holds no tests: there it is found, and a file can go or be divided."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        found = of_tests(imports_of(name_of(path), parsed(path)))
        assert not found, f"{path.relative_to(ROOT)} imports {found}; move that into a module beside both"


def declared(table: list[str]) -> set[str]:
    """Import names of the distributions in a list of requirements."""
    names = {entry.split(";")[0].split(">")[0].strip() for entry in table}
    parts = {"pydantic_core"} if "pydantic" in names else set()  # its documented errors live there
    other = {"markdown_it"} if "markdown-it-py" in names else set()
    return {name.replace("-", "_") for name in names} | parts | other


def test_third_party_imports_are_declared() -> None:
    """What works only because a test's package brought it would fail at a user's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    runtime = declared(project["dependencies"])
    bench = runtime | declared(project["optional-dependencies"]["bench"])
    for module in MODULES:
        known = (bench if within(module, "bench") else runtime) | set(OURS) | set(sys.stdlib_module_names)
        unknown = {target.split(".")[0] for target in imports(module)} - known
        assert not unknown, f"{module} imports {sorted(unknown)}, which pyproject.toml does not name"


def test_the_rules_bite() -> None:
    """A checker that finds nothing anywhere would pass as well."""
    tree = ast.parse(
        "import asyncio\nfrom ..net import relay\nfrom proxy.web.pages import render\ndef f():\n import bench"
    )
    targets = set(imports_of("proxy.protocol.tunnel", tree))
    assert targets == {"asyncio", "proxy.net.relay", "proxy.web.pages.render", "bench"}
    assert not any(allowed(target, MAY_IMPORT["proxy.protocol"]) for target in targets - {"asyncio"})
    assert allowed("proxy.protocol.frames.Frame", MAY_IMPORT["proxy.protocol"])
    assert not allowed("proxy.cli", MAY_IMPORT["proxy.net"])
    assert of_tests(["tests.unit.net.test_turns.Source", "tests.unit.net.sources.Source"]) == [
        "tests.unit.net.test_turns.Source"
    ]
