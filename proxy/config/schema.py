"""The JSON Schema of a site's file, for editors."""

from typing import Any

from proxy.config.model import SiteConfig


def schema() -> dict[str, Any]:
    """The schema; quantities with units are text with a pattern. Also says how wide their bounds are, as text."""
    body = SiteConfig.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body, "title": "Isthmus site configuration"}
