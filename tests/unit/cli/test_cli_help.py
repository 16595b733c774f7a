"""What can be typed explains itself, quickly, and completes in a shell."""

import shutil
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from proxy import __version__
from proxy.cli.commands import root
from proxy.errors import ExitCode
from tests.unit.cli.conftest import Isthmus


def command_lines(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from command_lines(inner, (*words, name))


ALL = list(command_lines(root))


def test_all_commands_are_there() -> None:
    assert set(ALL) == {
        (),
        ("init",),
        ("pair",),
        ("invite",),
        ("keygen",),
        ("check",),
        ("serve",),
        ("status",),
        ("events",),
        ("drain",),
        ("reload",),
        ("store",),
        ("store", "stats"),
        ("store", "verify"),
        ("store", "purge"),
        ("plan",),
        ("analyze",),
        ("doctor",),
        ("support-bundle",),
        ("demo",),
        ("wan",),
        ("wan", "up"),
        ("wan", "down"),
        ("wan", "set"),
        ("wan", "outage"),
        ("wan", "stats"),
        ("wan", "test"),
        ("bench",),
        ("bench", "list"),
        ("bench", "run"),
        ("bench", "report"),
        ("completion",),
    }


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_help_has_an_example_of_its_own(isthmus: Isthmus, words: tuple[str, ...]) -> None:
    shown = isthmus(*words, "--help")
    assert shown.exit_code == 0
    assert "Examples:\n" in shown.stdout
    assert f"isthmus {' '.join(words)}".strip() in shown.stdout.split("Examples:")[1]
    assert max(map(len, shown.stdout.splitlines())) <= 80, "fits a narrow terminal"


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_no_summary_is_cut(isthmus: Isthmus, words: tuple[str, ...]) -> None:
    assert "..." not in isthmus(*words, "--help").stdout.split("Commands:")[-1].replace("[ARGS]...", "").replace(
        "PATH...", ""
    )


def test_the_examples_can_be_typed() -> None:
    """Every option and argument in an example is one that the command has."""
    for words in ALL:
        command: click.Command = root
        for word in words:
            assert isinstance(command, click.Group)
            command = command.commands[word]
        for line in (command.epilog or "").splitlines():
            typed = line.strip().split(" | ")[0].split(" > ")[0].split()
            if typed[:1] == ["isthmus"]:
                root.make_context("isthmus", typed[1:], resilient_parsing=False).close()
                assert typed[1 : 1 + len(words)] == list(words)


def test_a_line_is_typed_at_the_other_site(isthmus: Isthmus) -> None:
    """Its own is refused."""
    examples = isthmus("pair", "--help").stdout.split("Examples:\n")[1]
    typed = [line.split() for line in examples.splitlines()]
    assert [(line[2].partition(":")[0], line[3].rpartition("/")[2]) for line in typed] == [("east", "west.toml")] * 2


def test_the_help_lists_every_exit_code(isthmus: Isthmus) -> None:
    told = isthmus("--help").stdout.split("Exit codes:")[1]
    assert [int(word) for word in told.replace(",", " ").replace(".", " ").split() if word.isdigit()] == [*ExitCode]


def test_the_version(isthmus: Isthmus) -> None:
    shown = isthmus("--version")
    assert (shown.exit_code, shown.stdout) == (0, f"isthmus {__version__}\n")


@pytest.mark.parametrize(
    "words", [["nonsense"], ["check"], ["check", "--nonsense"], ["keygen", "--site", "x"], ["completion", "tcsh"]]
)
def test_usage_errors(isthmus: Isthmus, words: list[str]) -> None:
    shown = isthmus(*words)
    assert shown.exit_code == ExitCode.USAGE
    assert "Usage: isthmus" in shown.stderr
    assert "Error: " in shown.stderr
    assert shown.stdout == ""


def test_choices_are_named_in_plain_words(isthmus: Isthmus) -> None:
    assert "Choose from: bash, zsh, fish\n" in isthmus("completion").stderr


def loaded_with(module: str) -> set[str]:
    """All modules that are loaded when that one is."""
    command = [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_help_loads_nothing_heavy() -> None:
    """So that `isthmus --help` and completion are quick."""
    loaded = loaded_with("proxy.cli.commands")
    assert "proxy.cli.commands" in loaded
    assert not {"pydantic", "rich", "cryptography", "asyncio", "aiohttp", "lmdb", "bench"} & loaded


@pytest.mark.parametrize("module", ["proxy.cli.keygen", "bench.wan.wan", "bench.wan.keeper"])
def test_what_reads_no_file_of_a_site_does_without_its_models(module: str) -> None:
    """To build them takes as long as all the rest of a start."""
    loaded = loaded_with(module)
    assert module in loaded
    assert "pydantic" not in loaded


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(isthmus: Isthmus, shell: str) -> None:
    shown = isthmus("completion", shell)
    assert shown.exit_code == 0
    assert f"_ISTHMUS_COMPLETE={shell}_complete" in shown.stdout
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n"], input=shown.stdout, text=True, check=True)
