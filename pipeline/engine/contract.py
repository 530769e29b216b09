"""Validate documents against their schemas, with one message that gives the fault, its place, and the writer.

`<stem>.schema.json` governs `<stem>.*`, wherever in the task that file lies. A fast validator answers the common case;
jsonschema, whose import is dear, is asked only to explain a breach.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from pipeline.base import formats, plain_yaml
from pipeline.base.errors import ContractError, FormatError
from pipeline.base.files import read_bytes
from pipeline.engine.phase import Documents, Phase, is_placeholder

_HERE = os.path.dirname(__file__)
# Beside the packages in a checkout, inside this one in a wheel.
_PLACES = (os.path.join(_HERE, "..", "schemas"), os.path.join(_HERE, "..", "..", "schemas"))
BUILT_IN = next(filter(os.path.isdir, _PLACES))
_YAML_STEMS = (".txt", ".yaml")
PLACEHOLDER = "placeholder.schema.json"
_MOST_BREACHES = 8
"""Most errors in one message: a model that is told of one at a time is asked as often."""


class Contracts:
    """Schemas of one set of phases. `folders` are searched in order; the built-in ones come last."""

    def __init__(self, folders: Sequence[str] = ()) -> None:
        self._folders = (*folders, BUILT_IN)
        self._schemas: dict[str, dict[str, Any]] = {}
        self._validators: dict[str, Any] = {}
        self._others: dict[int, tuple[Mapping[str, Any], Any]] = {}  # holds each schema, so that no id is used twice

    def parse(self, name: str, data: bytes, *, writer: str) -> Any:
        """Parse and validate a document. Raises ContractError, naming the phase that wrote it."""
        try:
            value = _parser_of(name)(data)
        except FormatError as error:
            place = f", line {error.line}, column {error.column}" if error.line else ""
            raise ContractError(f"{name}{place}: {error} (written by {writer})") from error
        self._check(name, value, writer, data)
        return value

    def serialise(self, name: str, value: Any, *, writer: str) -> bytes:
        """Validate and serialise a document. Raises ContractError, naming the phase that tried to write it."""
        data = _dump_value(name, value, writer)
        if name.endswith((*_YAML_STEMS, ".md")):
            self.parse(name, data, writer=writer)  # what cannot be read back must not be written
        else:
            self._check(name, value, writer, data)
        return data

    def serialise_line(self, name: str, value: Any, *, writer: str) -> bytes:
        """Return one line of a document's .jsonl companion: a valid value of the same schema."""
        data = formats.dump_json_line(value)
        self._check(name, value, writer, data)
        return data

    def schema(self, name: str) -> dict[str, Any]:
        """Return the schema of a document. Raises ContractError if there is none."""
        file_name = schema_name(name)
        if file_name not in self._schemas:
            self._schemas[file_name] = self._read_schema(file_name, name)
        return self._schemas[file_name]

    def _check(self, name: str, value: Any, writer: str, data: bytes) -> None:
        checked = value.front if isinstance(value, formats.Markdown) else value
        schema, key = self.schema(name), schema_name(name)
        if schema.get("mayBePlaceholder") and is_placeholder(checked):
            schema, key = self.schema(PLACEHOLDER), PLACEHOLDER
        if key not in self._validators:
            self._validators[key] = fast_validator(schema, key)
        try:
            valid = self._validators[key].is_valid(checked)
        except ValueError as error:  # a value that no JSON document can have: a set, a key that is a number
            raise ContractError(f"{name}: {error} (written by {writer})") from error
        if not valid:
            _raise_breach(name, schema, checked, writer, data)

    def breach(self, schema: Mapping[str, Any], value: Any) -> str | None:
        """Return why a value does not fit a schema that no document has, in one line, or None. One object is compiled once."""
        if id(schema) not in self._others:
            self._others[id(schema)] = (schema, fast_validator(dict(schema)))
        validator = self._others[id(schema)][1]
        if validator.is_valid(value):
            return None
        breaches = explain_breaches(dict(schema), value)
        messages = [
            f"at {breach.json_path}: {_shorten_message(breach.message)}" for breach in breaches[:_MOST_BREACHES]
        ]
        more = [f"{len(breaches) - len(messages)} more like this"] if len(breaches) > len(messages) else []
        return "; ".join([*messages, *more]) or "it does not fit the schema"

    def _read_schema(self, file_name: str, document: str) -> dict[str, Any]:
        for folder in self._folders:
            path = os.path.join(folder, file_name)
            if os.path.exists(path):
                try:
                    schema = formats.parse_json(read_bytes(path))
                except FormatError as error:
                    raise ContractError(f"{path}, line {error.line}: {error}") from error
                if not isinstance(schema, dict):
                    raise ContractError(f"{path}: a schema is a JSON object")
                return schema
        raise ContractError(f"no schema governs {document}: add {file_name} to {self._folders[0]}")


def schema_name(document: str) -> str:
    base = os.path.basename(document)
    return base if base.endswith(".schema.json") else base.split(".", 1)[0] + ".schema.json"


def fast_validator(schema: dict[str, Any], name: str = "a schema") -> Any:
    """Return the validator of the common case. It never fetches: a reference out of the schema is an error."""
    import jsonschema_rs  # late: 20 ms, and commands that read no document pay none

    try:
        return jsonschema_rs.Draft202012Validator(schema, retriever=_refuse_fetch, validate_formats=False)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise ContractError(f"{name} is not a valid schema: {_shorten_message(str(error))}") from error


def explain_breaches(schema: dict[str, Any], value: Any) -> list[Any]:
    """Return every error that jsonschema finds, the most telling first."""
    import jsonschema  # late, both: 70 ms, and only a breach needs them
    import referencing

    registry: Any = referencing.Registry(retrieve=_refuse_fetch)  # type: ignore[call-arg]
    validator = jsonschema.Draft202012Validator(schema, registry=registry)
    return sorted(validator.iter_errors(value), key=jsonschema.exceptions.relevance, reverse=True)


def _raise_breach(name: str, schema: dict[str, Any], value: Any, writer: str, data: bytes) -> NoReturn:
    breaches = explain_breaches(schema, value)
    if not breaches:  # the two validators differ: the stricter one wins, in its own words
        strict = next(iter(fast_validator(schema).iter_errors(value)))
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in strict.instance_path)
        raise ContractError(
            f"{name} at ${''.join(steps)}: {_shorten_message(strict.message)} "
            f"(rule: {strict.schema_path[-1]}; written by {writer})"
        )
    breach = breaches[0]
    while breach.context:
        breach = max(breach.context, key=lambda inner: (len(inner.absolute_path), inner.validator != "type"))
    path = list(breach.absolute_path)
    line, column = plain_yaml.locate_yaml(data, path) if name.endswith(_YAML_STEMS) else (0, 0)
    place = f", line {line}, column {column}," if line else ""
    raise ContractError(
        f"{name}{place} at {breach.json_path}: {_shorten_message(breach.message)} (rule: {breach.validator}; written by {writer})"
    )


def _parser_of(name: str) -> Any:
    if name.endswith(".md"):
        return formats.parse_markdown
    return plain_yaml.parse_yaml if name.endswith(_YAML_STEMS) else formats.parse_json


def _dump_value(name: str, value: Any, writer: str) -> bytes:
    try:
        if isinstance(value, formats.Markdown) != name.endswith(".md"):
            raise FormatError("only Markdown goes under a name that ends in .md, and nothing else does")
        if isinstance(value, formats.Markdown):
            return value.text.encode("utf-8")
        return plain_yaml.dump_yaml(value) if name.endswith(_YAML_STEMS) else formats.dump_json(value)
    except (FormatError, UnicodeError) as error:
        raise ContractError(f"{name}: {error} (written by {writer})") from error


def _shorten_message(message: str, limit: int = 300) -> str:
    line = " ".join(message.split())
    return line if len(line) <= limit else line[: limit // 2] + " … " + line[-limit // 2 :]


def _refuse_fetch(uri: str) -> NoReturn:
    raise ContractError(f"a schema refers to {uri}: schemas never fetch; put the definition under its own $defs")


def check_output_names(phase: Phase, documents: Documents) -> None:
    """Raise ContractError for a document that is missing, or that the phase does not declare."""
    promised = {name for name in phase.writes if not name.endswith("/")}
    folders = tuple(name for name in phase.writes if name.endswith("/"))
    for name in promised - documents.keys():
        raise ContractError(f"phase {phase.label} did not return {name}, which it promises to write")
    for name in documents.keys() - promised:
        if not (folders and name.startswith(folders)) or ".." in name.split("/"):
            raise ContractError(f"phase {phase.label} returned {name}, which it does not declare")


def check_listed_files(
    phase: Phase, documents: Documents, returned: Mapping[str, str], digest: Callable[[str], str | None]
) -> dict[str, str]:
    """Return the sha256 of every file that the phase's manifests list, each verified.

    Raises ContractError for a file that is not, and for one outside the task.
    """
    checked: dict[str, str] = {}
    if not any(name.endswith("/") for name in phase.writes):
        return checked  # without a folder no document is a manifest: what it calls files is its own business
    for name, value in documents.items():
        for path, promised in _manifest_rows(getattr(value, "front", value)):
            if path.startswith("/") or ".." in path.split("/"):
                raise ContractError(f"{name} lists {path}, which is not in the task (written by phase {phase.label})")
            checked[path] = returned.get(path) or digest(path) or ""
            if checked[path] != promised:
                raise ContractError(
                    f"{name} lists {path} with another sha256 than the file has (written by phase {phase.label})"
                )
    return checked


def _manifest_rows(document: object) -> list[tuple[str, str]]:
    """Return path and sha256 of each file in a document's manifest. The schema covers other shapes of `files`."""
    files = document.get("files") if isinstance(document, Mapping) else None
    rows = [entry for entry in files if isinstance(entry, Mapping)] if isinstance(files, (list, tuple)) else []
    pairs = [(entry.get("path"), entry.get("sha256")) for entry in rows]
    return [(path, digest) for path, digest in pairs if isinstance(path, str) and isinstance(digest, str)]
