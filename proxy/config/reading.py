"""Makes a draft of a file's text: the TOML tree and the models are walked side by side, key by key.

A value that cannot be read is one mistake and leaves a gap in the draft; everything else is still read and checked, so
that an operator sees all mistakes at once.
"""

import codecs
import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from proxy.config.mistakes import ABSENT, KeyPath, Mistake
from proxy.config.model import SiteConfig

Table = dict[str, Any]


@dataclass
class Draft:
    """What is sound of a file that may have mistakes, and the mistakes found so far."""

    tree: Table
    source: Path
    """The file; its directory is where relative paths begin."""
    values: dict[KeyPath, Any] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    def get(self, *where: str | int) -> Any:
        """The sound value or default there, or None if there is none."""
        return self.values.get(where)

    def column(self, table: str, key: str) -> dict[KeyPath, Any]:
        """The sound values of that key in all tables of an array such as [[peer]], by place, in order."""
        return {where: value for where, value in self.values.items() if where[0] == table and where[2:] == (key,)}

    def entries(self, table: str) -> Iterator[tuple[KeyPath, Table]]:
        """Place and raw content of every table of an array such as [[peer]]."""
        tables = self.tree.get(table)
        for index, entry in enumerate(tables if isinstance(tables, list) else []):
            if isinstance(entry, dict):
                yield (table, index), entry

    def raw(self, where: KeyPath) -> Any:
        """What the file says there, or ABSENT."""
        value: Any = self.tree
        for step in where:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return ABSENT
        return value

    def wrong(self, where: KeyPath, wrong: str, remedy: str, *, passes: bool = False) -> None:
        """Note a mistake. `passes`: as Mistake has it."""
        self.mistakes.append(Mistake(where, self.raw(where), wrong, remedy, passes))


_TWICE = re.compile(r"Cannot declare \((.+?),?\) twice (.*)")
_AGAIN = "Cannot overwrite a value "
_AT_END = "(at end of document)"
_SETTING = re.compile(rb"""^[ \t]*(?:\[+[ \t]*[\w"']|[\w."'-][\w."' \t-]*=[ \t]*[^=\s])""", re.MULTILINE)
"""A line such as [section] or key = value, perhaps cut off; not base64, which ends with =."""
OTHER_FILE = "has no [section] and no `key = value`: it may be a key, a certificate or a token"
A_SITES_FILE = "give the path of a site's file"
_NOT_TOML = {
    "JSON": re.compile(rb"\s*\{"),
    "YAML": re.compile(rb"""(?:\s|#.*\n)*(?:---\s|[\w"'-]+:\s)"""),
}
"""How files begin that are not TOML."""
_AS_TOML = f'{A_SITES_FILE}, which has lines such as [section] and key = "value"'
_CR_ALONE = re.compile(rb"\r(?!\n)")


def is_configuration(content: bytes) -> bool:
    """True if this may be a site's file, however broken: it sets something.

    What is no configuration must not be shown at all: a key or a token that stands alone would not be recognised.
    """
    return _SETTING.search(content) is not None


def read_tree(content: bytes) -> Table | Mistake:
    """The TOML tree, or the one mistake that keeps it from being read."""
    if content.startswith(codecs.BOM_UTF8):
        return Mistake((), ABSENT, "begins with a byte order mark", "save it as UTF-8 without one")
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Mistake((), ABSENT, f"line {line} is not UTF-8", "save the file as UTF-8")
    except tomllib.TOMLDecodeError as error:
        if b"\0" in content and is_configuration(content.replace(b"\0", b"")):
            line = content.count(b"\n", 0, content.index(b"\0")) + 1
            return Mistake((), ABSENT, f"line {line} holds a zero byte, as UTF-16 does", "save the file as UTF-8")
        if _CR_ALONE.search(content) and is_configuration(content.replace(b"\r", b"\n")):
            wrong = "has a carriage return (CR) without the line feed (LF) that ends a line"
            return Mistake((), ABSENT, wrong, "save the file with the line ends of Unix")
        for name, begins in _NOT_TOML.items():
            if begins.match(content):
                return Mistake((), ABSENT, f"seems to be {name}, not TOML", _AS_TOML)
        return _not_toml(str(error)) if is_configuration(content) else Mistake((), ABSENT, OTHER_FILE, A_SITES_FILE)
    except (ValueError, RecursionError):
        return Mistake((), ABSENT, "has a number or a nesting beyond all measure", "remove it")


def _not_toml(why: str) -> Mistake:
    """The mistake that Python's words, `why`, are about. Of something that stands twice they show a tuple and no
    remedy, so ours take their place."""
    if twice := _TWICE.fullmatch(why):
        section = ".".join(re.findall(r"'([^']*)'", twice[1]))
        remedy = f"keep one [{section}] with all its keys, or write [[{section}]] above each if there may be several"
        return Mistake((), ABSENT, f"has section [{section}] a second time {twice[2]}", remedy)
    if why.startswith(_AGAIN):
        return Mistake((), ABSENT, f"sets a key a second time {why.removeprefix(_AGAIN)}", "keep one of the two")
    correct = "correct that line; text values stand in double quotes"
    if why.endswith(_AT_END):
        correct = "finish what has no end: a value, a quote or a bracket, perhaps of a line far above"
    return Mistake((), ABSENT, f"is not TOML: {why}", correct)


def read_draft(tree: Table, source: Path) -> Draft:
    """Everything in the tree that is sound by itself, and a mistake for everything else."""
    draft = Draft(tree, source)
    _read_table(SiteConfig, tree, (), draft)
    return draft


def suggestion(word: str, known: Iterable[str]) -> str:
    """A remedy: which of the `known` words (at least one) the operator may have meant, or all of them."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.7)  # "rate" is not like "range"
    if close:
        return f'did you mean "{close[0]}"?'
    return f"known here: {', '.join(known)}"


def _read_table(model: type[BaseModel], table: Table, where: KeyPath, draft: Draft) -> None:
    known = [info.alias or name for name, info in model.model_fields.items()]
    for key in table:
        if key not in known:
            draft.wrong((*where, key), "is not a known key", suggestion(key, known))
    for name, info in model.model_fields.items():
        key = info.alias or name
        section, many = _section(info.annotation)
        if section is None:
            _read_key(model, name, table.get(key, ABSENT), (*where, key), draft)
        elif many:
            _read_tables(section, table.get(key, []), (*where, key), draft)
        else:
            _read_section(section, table.get(key, {}), (*where, key), draft)


def _read_key(model: type[BaseModel], name: str, value: Any, where: KeyPath, draft: Draft) -> None:
    info = model.model_fields[name]
    if value is not ABSENT:
        _read_value(model, name, value, where, draft)
    elif info.is_required():
        draft.wrong(where, "is missing", f"add {where[-1]} = {_example(info)} to {_section_name(where)}")
    elif info.default is not None:
        _read_value(model, name, info.default, where, draft)


def _read_section(section: type[BaseModel], table: Any, where: KeyPath, draft: Draft) -> None:
    if isinstance(table, dict):
        _read_table(section, table, where, draft)
    else:
        draft.wrong(where, "is not a section", f"write it as [{_name(where)}], once, and its keys on the lines below")


def _read_tables(section: type[BaseModel], tables: Any, where: KeyPath, draft: Draft) -> None:
    if not isinstance(tables, list):
        draft.wrong(where, "is not a list of tables", f"write [[{_name(where)}]] in double brackets, one for each")
        return
    for index, table in enumerate(tables):
        if isinstance(table, dict):
            _read_table(section, table, (*where, index), draft)
        else:
            draft.wrong((*where, index), "is not a table", f"write [[{_name(where)}]] in double brackets, one for each")


def _read_value(model: type[BaseModel], name: str, value: Any, where: KeyPath, draft: Draft) -> None:
    try:
        draft.values[where] = _adapter(model, name).validate_python(value, context={"base": draft.source.parent})
    except ValidationError as error:
        for details in error.errors(include_url=False, include_input=False):
            if details["type"] == "too_short" and value:  # it lacks only what is noted already
                continue
            draft.wrong((*where, *details["loc"]), *_words(details))


def _section_name(where: KeyPath) -> str:
    table = _name(where[:-1])
    return f"that [[{table}]]" if isinstance(where[-2], int) else f"[{table}]"


def _name(where: KeyPath) -> str:
    """A table's name, as it stands in brackets."""
    return ".".join(step for step in where if isinstance(step, str))


def _section(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The model of a section, and whether it is an array of tables; None for a plain value."""
    inner = get_args(annotation)[0] if get_args(annotation) else annotation
    if isinstance(inner, type) and issubclass(inner, BaseModel):
        return inner, inner is not annotation
    return None, False


@cache
def _adapter(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    """A validator for one key by itself."""
    return TypeAdapter(model.model_fields[name].rebuild_annotation())


_WORDS = {
    "literal_error": ("is not one of the possible values", "write {expected}"),
    "int_type": ("is not a whole number", "write a number without quotes"),
    "bool_type": ("is neither true nor false", "write true or false, without quotes"),
    "greater_than_equal": ("is too small", "write at least {ge}"),
    "less_than_equal": ("is too large", "write at most {le}"),
    "tuple_type": ("is not a list", "write a list in square brackets"),
    "too_short": ("is empty", "name at least one"),
}
"""What pydantic's own errors mean to an operator."""


def _words(details: ErrorDetails) -> tuple[str, str]:
    context = details.get("ctx", {})
    if details["type"] == "mistaken":
        return context["wrong"], context["remedy"]
    wrong, remedy = _WORDS.get(details["type"], (details["msg"], "see CONFIGURATION.md"))
    return wrong, remedy.format(**context)


def _example(info: FieldInfo) -> str:
    example = (info.examples or ["..."])[0]
    return str(example).replace("'", '"') if isinstance(example, list) else f'"{example}"'
