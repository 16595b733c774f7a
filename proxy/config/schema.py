"""The JSON Schema of a site's file, for editors; the documents are made from it, too."""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from proxy.config.model import SiteConfig


class _TomlSchema(GenerateJsonSchema):
    """TOML has no null: what may be absent is just not required, and has no default then."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        described = super().default_schema(schema)
        return {key: value for key, value in described.items() if key != "default" or value not in (None, [], {})}


def schema() -> dict[str, Any]:
    """The schema. Quantities with units are text with a pattern; their bounds stand in `$comment`."""
    body = SiteConfig.model_json_schema(by_alias=True, schema_generator=_TomlSchema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body, "title": "Isthmus site configuration"}
