"""What is written from the models is up to date, and says everything."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from proxy.config.document import documents
from proxy.config.schema import schema
from proxy.errors import ExitCode
from tests.unit.config.contract import EAST, WEST

DEPLOY = Path(__file__).parents[3] / "deploy"


@pytest.mark.parametrize("name", ["CONFIGURATION.md", "isthmus.schema.json"])
def test_documents_are_up_to_date(name: str) -> None:
    assert (DEPLOY / name).read_text() == documents()[name], "run python -m proxy.config.document"


def sections(described: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The schema of each section's table by the section's key."""
    references = {key: value.get("items", value)["$ref"] for key, value in described["properties"].items()}
    return {key: described["$defs"][reference.rpartition("/")[2]] for key, reference in references.items()}


def test_every_key_is_described_and_has_a_default_or_an_example_or_may_be_absent() -> None:
    for section, table in sections(schema()).items():
        assert table["description"]
        for key, value in table["properties"].items():
            assert value["description"].endswith("."), f"{section}.{key}"
            assert "default" in value or ("examples" in value) == (key in table.get("required", ())), f"{section}.{key}"


def test_the_page_names_every_key_and_exit_code() -> None:
    page = documents()["CONFIGURATION.md"]
    for section, table in sections(schema()).items():
        assert f"[{section}]" in page
        assert all(f"| `{key}` | " in page for key in table["properties"])
    assert all(f"| {code.value} | {code.meaning} |" in page for code in ExitCode)


def test_unknown_keys_are_refused_by_the_schema_too() -> None:
    described = schema()
    tables = [described, *described["$defs"].values()]
    assert all(table["additionalProperties"] is False for table in tables)


@pytest.mark.parametrize("text", [EAST, WEST])
def test_the_contract_fits_the_schema(text: str) -> None:
    """Checked by hand for the few keywords that we use, to need no further package."""
    tables = sections(schema())
    for section, content in tomllib.loads(text).items():
        for table in content if isinstance(content, list) else [content]:
            assert set(tables[section].get("required", ())) <= set(table)
            for key, value in table.items():
                assert fits(value, tables[section]["properties"][key]), f"{section}.{key}"


def fits(value: Any, described: dict[str, Any]) -> bool:
    if isinstance(value, list):
        return described["type"] == "array" and all(fits(entry, described["items"]) for entry in value)
    if "enum" in described:
        return value in described["enum"]
    return described["type"] == "string" and re.search(described["pattern"], value) is not None


def test_the_schema_is_json() -> None:
    assert json.loads(documents()["isthmus.schema.json"]) == schema()
